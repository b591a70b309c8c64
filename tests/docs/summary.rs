//! The summary of the site has every document once.

use std::collections::BTreeMap;

use crate::pages::{Page, Pages, SUMMARY, pages};

/// What is wrong with the summary, a line each.
fn wrong(pages: &Pages) -> Vec<String> {
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    for link in Page::of(&pages[SUMMARY]).links {
        *named.entry(link).or_default() += 1;
    }
    let twice = named.iter().filter(|(_, times)| **times > 1);
    let twice = twice.map(|(page, times)| format!("{page} stands there {times} times"));
    let documents = pages.keys().filter(|path| *path != SUMMARY);
    let missing = documents.filter(|path| !named.contains_key(*path));
    let missing = missing.map(|path| format!("{path} is missing"));
    twice.chain(missing).collect()
}

#[test]
fn the_summary_of_the_site_names_every_document_once() {
    let wrong = wrong(&pages());
    assert!(wrong.is_empty(), "{SUMMARY}:\n{}", wrong.join("\n"));
}

#[test]
fn a_document_that_is_missing_or_named_twice_is_told() {
    let mut pages = pages();
    pages.insert("docs/new.md".into(), "# New\n".into());
    let summary = pages.get_mut(SUMMARY).unwrap();
    *summary = summary.replace("(docs/faults.md)", "(docs/model.md)");
    let told = [
        "docs/model.md stands there 2 times",
        "docs/faults.md is missing",
        "docs/new.md is missing",
    ];
    assert_eq!(wrong(&pages), told);
}
