//! What is fuzzed: one function for each kind of text that others write.
//!
//! A target takes any bytes. It must not panic, and it asserts what it can beyond
//! that: what is read and written again is the same, an error names a line that is
//! there, a page shows no foreign tag. How long it may take and what memory it may
//! use is for whoever runs it: the seeded hunt beside this (`hunt.rs`, stable, in
//! `cargo test`), or libFuzzer (`fuzz/`), which includes this folder as it stands.

mod adapter;
mod attachment;
mod baseline;
mod client;
mod history;
mod lock_file;
mod merge;
mod report;
mod resp;
mod run_file;
mod scenario;
mod schedule;
mod script;
mod server;
mod trace;
#[path = "../../support/unpacked.rs"]
mod unpacked;

use std::fmt::Debug;

/// How inputs are written, so that they can be changed without becoming noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Bytes,
    Text,
    Json,
    JsonLines,
    Toml,
}

/// One kind of input.
pub struct Target {
    pub name: &'static str,
    /// Panics on a find.
    pub run: fn(&[u8]),
    pub form: Form,
    /// Files to begin with, besides `tests/fuzz/corpus/NAME`: folders and an ending.
    pub seeds: &'static [(&'static str, &'static str)],
    /// Words that mean something in such a file.
    pub words: &'static [&'static str],
    /// How many inputs `cargo test` tries.
    pub inputs: u64,
}

/// Every target, in alphabetical order.
pub static TARGETS: [Target; 12] = [
    adapter::TARGET,
    attachment::TARGET,
    baseline::TARGET,
    history::TARGET,
    lock_file::TARGET,
    merge::TARGET,
    report::TARGET,
    resp::TARGET,
    run_file::TARGET,
    scenario::TARGET,
    script::TARGET,
    trace::TARGET,
];

/// The target of this name.
pub fn named(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// The text as UTF-8, as every reader of text files asks for it.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// Both are the same; told short, because a report can be long.
#[track_caller]
fn same<T: PartialEq + Debug>(what: &str, a: &T, b: &T) {
    if a != b {
        let [a, b] = [a, b].map(|one| format!("{one:?}"));
        let at = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
        let near = |text: &str| -> String {
            let bytes = &text.as_bytes()[at.saturating_sub(60)..(at + 60).min(text.len())];
            String::from_utf8_lossy(bytes).into_owned()
        };
        panic!("{what}: `{}` and `{}`", near(&a), near(&b));
    }
}

/// The text may be shown: no control characters but line feeds.
#[track_caller]
fn printable(what: &str, text: &str) {
    if let Some(bad) = text.chars().find(|c| c.is_control() && *c != '\n') {
        panic!("{what} has the control character {bad:?}");
    }
}

/// The page has its own scripts and no other.
#[track_caller]
fn no_foreign_tag(what: &str, page: &str, own: usize) {
    let page = page.to_ascii_lowercase();
    for tag in [
        "<script",
        "<iframe",
        "<img",
        "href=\"javascript:",
        "href=\"http:",
        "href=\"https:",
        "href=\"//",
    ] {
        let found = page.matches(tag).count();
        let allowed = if tag == "<script" { own } else { 0 };
        assert!(found == allowed, "{what} has `{tag}` {found} times");
    }
}

/// The line (from 1) is one of the text, or the one after its end.
#[track_caller]
fn line_is_there(line: usize, text: &[u8]) {
    // Lua ends a line at a carriage return too.
    let lines = text.iter().filter(|byte| b"\r\n".contains(byte)).count() + 2;
    assert!((1..=lines).contains(&line), "line {line} of {lines}");
}
