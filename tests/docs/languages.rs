//! A document in two languages is one document: the same headings, code, tables and figures.
//!
//! Prose cannot be compared. But what goes stale in a translation is first a section that came or
//! went, a command, a name or a number, and these can.

use crate::pages::{Page, Pages, pages};

/// The folder of the Chinese documents.
const CHINESE: &str = "docs/zh-CN/";
/// Documents that stand in Chinese without an English counterpart.
const CHINESE_ONLY: [&str; 1] = ["docs/zh-CN/glossary.md"];
/// Documents that must be there in both languages, beside the pages of all locks.
const TRANSLATED: [&str; 5] = [
    "README.md",
    "docs/faults.md",
    "docs/lock-files.md",
    "docs/properties.md",
    "docs/which-lock.md",
];
/// Those of them that a run writes: all of their numbers are compared, also in prose.
const GENERATED: [&str; 3] = ["docs/faults.md", "docs/properties.md", "docs/which-lock.md"];

/// Where the Chinese document of an English one is.
fn chinese_of(english: &str) -> String {
    match english.strip_prefix("docs/") {
        Some(below) => format!("{CHINESE}{below}"),
        None => english.replace(".md", ".zh-CN.md"),
    }
}

/// What is wrong between the two languages, a line each.
fn out_of_step(pages: &Pages) -> Vec<String> {
    let locks = pages.keys().filter(|path| path.starts_with("docs/locks/"));
    let english = TRANSLATED.into_iter().chain(locks.map(String::as_str));
    let english: Vec<&str> = english.collect();
    let mut wrong = Vec::new();
    for one in &english {
        let other = chinese_of(one);
        match (pages.get(*one), pages.get(&other)) {
            (Some(text), Some(chinese)) => wrong.extend(compare(one, text, &other, chinese)),
            (None, _) => wrong.push(format!("{one} is missing")),
            (_, None) => wrong.push(format!("{other} is missing, which is {one} in Chinese")),
        }
    }
    let pairs: Vec<String> = english.iter().map(|one| chinese_of(one)).collect();
    let surplus = pages.keys().filter(|path| {
        let only = CHINESE_ONLY.contains(&path.as_str());
        path.starts_with(CHINESE) && !pairs.contains(path) && !only
    });
    wrong.extend(surplus.map(|path| format!("{path} has no English counterpart")));
    wrong
}

fn compare(path: &str, text: &str, other_path: &str, other_text: &str) -> Vec<String> {
    let (one, other) = (Page::of(text), Page::of(other_text));
    let mut wrong = Vec::new();
    let mut differ = |what: &str, at: usize, english: Option<String>, chinese: Option<String>| {
        let said = |side: Option<String>| side.map_or("nothing".into(), |text| format!("{text:?}"));
        wrong.push(format!(
            "{other_path}: {what} {}: {}; in {path}: {}",
            at + 1,
            said(chinese),
            said(english)
        ));
    };
    let level = |(level, text): &(u8, String)| (*level, text.clone());
    first_difference(&one.headings, &other.headings, |heading| level(heading).0).inspect(|at| {
        let shown = |page: &Page| {
            page.headings
                .get(*at)
                .map(|(level, text)| format!("{} {text}", "#".repeat(usize::from(*level))))
        };
        differ("heading", *at, shown(&one), shown(&other));
    });
    first_difference(&one.code, &other.code, Clone::clone).inspect(|at| {
        let shown = |page: &Page| page.code.get(*at).map(|(_, text)| text.clone());
        differ("block of code", *at, shown(&one), shown(&other));
    });
    let rows = |page: &Page| -> Vec<(usize, usize, String)> {
        let tables = page.tables.iter().enumerate();
        let rows = tables.flat_map(|(at, table)| table.iter().map(move |row| (at, row)));
        rows.map(|(at, (cells, text))| (at, *cells, text.clone()))
            .collect()
    };
    let (rows_one, rows_other) = (rows(&one), rows(&other));
    let shape = |(table, cells, text): &(usize, usize, String)| (*table, *cells, numbers(text));
    first_difference(&rows_one, &rows_other, shape).inspect(|at| {
        let shown =
            |rows: &[(usize, usize, String)]| rows.get(*at).map(|(_, _, text)| text.clone());
        differ("row of a table", *at, shown(&rows_one), shown(&rows_other));
    });
    if GENERATED.contains(&path) || path.starts_with("docs/locks/") {
        if numbers(text) != numbers(other_text) {
            wrong.push(format!("{other_path}: its numbers are not those of {path}"));
        }
    } else {
        wrong.extend(names(path, &one, other_path, &other));
        wrong.extend(names(other_path, &other, path, &one));
    }
    for (from, page, to) in [(path, &one, other_path), (other_path, &other, path)] {
        let name = to.rsplit('/').next().unwrap();
        if !page.links.iter().any(|link| link.ends_with(name)) {
            wrong.push(format!("{from} has no link to {to}"));
        }
    }
    wrong
}

/// The code within sentences that one document has more often than the other.
fn names(path: &str, one: &Page, other_path: &str, other: &Page) -> Option<String> {
    let mut left = other.inline.clone();
    let mut more = one.inline.clone();
    more.retain(|name| match left.iter().position(|known| known == name) {
        Some(at) => {
            left.swap_remove(at);
            false
        }
        None => true,
    });
    let named = more.join("`, `");
    (!more.is_empty()).then(|| format!("{path} names `{named}` more often than {other_path}"))
}

/// The first place at which two lists differ, as far as a reader of one property can tell.
fn first_difference<T, K: PartialEq>(
    one: &[T],
    other: &[T],
    key: impl Fn(&T) -> K,
) -> Option<usize> {
    let longest = one.len().max(other.len());
    (0..longest).find(|at| one.get(*at).map(&key) != other.get(*at).map(&key))
}

/// The numbers of a text, sorted: another language may say them in another order.
fn numbers(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !c.is_ascii_digit());
    let mut numbers: Vec<String> = parts
        .filter(|part| !part.is_empty())
        .map(Into::into)
        .collect();
    numbers.sort();
    numbers
}

#[test]
fn documents_in_two_languages_have_the_same_headings_code_tables_and_figures() {
    let wrong = out_of_step(&pages());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_out_of_step_is_told_with_its_place() {
    let pages = pages();
    let told = |path: &str, from: &str, to: &str| {
        let mut changed = pages.clone();
        let text = changed.get_mut(path).unwrap();
        assert!(text.contains(from), "{path} has {from}");
        *text = text.replacen(from, to, 1);
        out_of_step(&changed).join("\n")
    };
    let said = told("docs/lock-files.md", "\n## Keys\n", "\n### Keys\n");
    assert!(said.contains("docs/zh-CN/lock-files.md: heading"), "{said}");
    assert!(
        said.contains("in docs/lock-files.md: \"### Keys\""),
        "{said}"
    );
    let said = told(
        "docs/zh-CN/lock-files.md",
        "\"NX\", \"PX\"",
        "\"NX\", \"EX\"",
    );
    assert!(
        said.contains("docs/zh-CN/lock-files.md: block of code 1: "),
        "{said}"
    );
    let said = told("docs/zh-CN/lock-files.md", "`told_within`", "`tell_within`");
    let missing = "docs/lock-files.md names `told_within` more often than docs/zh-CN/lock-files.md";
    assert!(said.contains(missing), "{said}");
    let said = told("docs/faults.md", " of 28 |", " of 29 |");
    assert!(
        said.contains("docs/zh-CN/faults.md: row of a table 2: "),
        "{said}"
    );
    let said = told("docs/locks/token.md", "[中文](../zh-CN/locks/token.md)", "");
    assert!(said.contains("docs/locks/token.md has no link to docs/zh-CN/locks/token.md"));
}

#[test]
fn a_document_that_is_there_in_one_language_only_is_told() {
    let mut pages = pages();
    pages.remove("docs/zh-CN/locks/token.md");
    pages.remove("docs/faults.md");
    pages.insert("docs/zh-CN/new.md".into(), "# 新\n".into());
    let told = [
        "docs/faults.md is missing",
        "docs/zh-CN/locks/token.md is missing, which is docs/locks/token.md in Chinese",
        "docs/zh-CN/new.md has no English counterpart",
    ];
    assert_eq!(out_of_step(&pages), told);
}
