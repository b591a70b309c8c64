//! Every link between documents leads somewhere.

use crate::pages::{Page, Pages, SUMMARY, pages, root};

/// What is wrong with the links of all documents, a line each.
fn dead_links(pages: &Pages) -> Vec<String> {
    let mut dead = Vec::new();
    for (path, text) in pages {
        for link in Page::of(text).links {
            if let Err(why) = follow(pages, path, &link) {
                dead.push(format!("{path}: ({link}): {why}"));
            }
        }
    }
    dead
}

fn follow(pages: &Pages, from: &str, link: &str) -> Result<(), String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return Ok(());
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match path {
        "" => from.to_owned(),
        path => target(from, path).ok_or("it leaves the repository")?,
    };
    if anchor.is_empty() {
        let there = pages.contains_key(&target) || root().join(&target).exists();
        return there.then_some(()).ok_or("there is no such file".into());
    }
    let page = pages.get(&target).ok_or("there is no such document")?;
    let anchors = Page::of(page).anchors();
    match anchors.iter().any(|known| known == anchor) {
        true => Ok(()),
        false => Err("there is no such heading".into()),
    }
}

/// The path below the root to which a link leads. The summary's links begin at the root: there it
/// lies when the site is built.
fn target(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    if link.starts_with('/') || from == SUMMARY {
        parts.clear();
    }
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[test]
fn every_link_between_documents_leads_to_a_file_and_to_a_heading() {
    let dead = dead_links(&pages());
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

#[test]
fn a_dead_link_and_a_heading_with_another_name_are_told() {
    let pages = pages();
    let broken = |path: &str, from: &str, to: &str| {
        let mut changed = pages.clone();
        let text = changed.get_mut(path).unwrap();
        assert!(text.contains(from), "{path} has {from}");
        *text = text.replace(from, to);
        dead_links(&changed).join("\n")
    };
    let said = broken(
        "docs/compose.md",
        "](../docker-compose.yml",
        "](../docker.yml",
    );
    assert!(
        said.contains("docs/compose.md: (../docker.yml): there is no such file"),
        "{said}"
    );
    let said = broken(
        "docs/model.md",
        "## Endless runs\n",
        "## Runs without an end\n",
    );
    assert!(
        said.contains("(model.md#endless-runs): there is no such heading"),
        "{said}"
    );
    let said = broken("site/SUMMARY.md", "(docs/model.md)", "(docs/modell.md)");
    assert!(said.contains("site/SUMMARY.md: (docs/modell.md): there is no such file"));
    // What only looks like a link is none.
    let said = broken(
        "docs/ci.md",
        "# Guarding",
        "`[x](nowhere.md)`\n\n# Guarding",
    );
    assert_eq!(said, "");
}
