//! What a lock file says of its lock: read, bounded, and without effect on anything else.

use crate::lock_support::*;

use lockproof_model::lock::{LockFile, builtin_names};

const OPERATIONS: &str = "acquire = function(lock) end, release = function(lock) end,";

fn with(about: &str) -> Result<LockFile, lockproof_model::lock::LockError> {
    file(&format!("return {{\n{OPERATIONS}\n{about}\n}}"))
}

/// The declaration begins on line 3.
#[track_caller]
fn refused(about: &str, line: u32, says: &str) {
    let error = with(about).unwrap_err().to_string();
    let place = format!("my-lock.lua:{line}: ");
    assert!(error.starts_with(&place) && error.contains(says), "{error}");
}

#[test]
fn every_builtin_lock_says_what_it_is() {
    for name in builtin_names() {
        let about = LockFile::builtin(name).unwrap().about;
        for text in [about.works, about.claims, about.repair] {
            let text = text.unwrap_or_else(|| panic!("{name} leaves something out"));
            assert!(text.ends_with('.') && text.len() > 60, "{name}: {text}");
        }
    }
}

#[test]
fn each_part_may_be_left_out() {
    assert_eq!(with("").unwrap().about, Default::default());
    assert_eq!(with("about = {}").unwrap().about, Default::default());
    let about = with("about = { repair = \"use\\n  a token\" }")
        .unwrap()
        .about;
    assert_eq!(about.repair.as_deref(), Some("use a token"), "one line");
    assert_eq!((about.works, about.claims), (None, None));
}

#[test]
fn what_is_wrong_with_it_is_told_with_its_line() {
    refused("about = 'text'", 3, "`about` must be a table, not a string");
    refused(
        "about = {\n  works = 'a',\n  claim = 'b',\n}",
        5,
        "`about` has no field `claim`; did you mean `claims`?",
    );
    refused("about = {\n  'a' }", 3, "`about` has no field `1`");
    refused(
        "about = {\n\n  works = { 'a' } }",
        5,
        "`about.works` must be a text, not a table",
    );
    refused("about = { repair = 3 }", 3, "not a number");
    let long = format!(
        "about = {{\n  works = 'a',\n  claims = '{}' }}",
        "x ".repeat(401)
    );
    refused(&long, 5, "`about.claims` has 801 characters");
    let most = format!("about = {{ claims = '{}' }}", "é".repeat(800));
    assert!(with(&most).is_ok());
}

#[test]
fn a_declaration_that_is_made_elsewhere_has_no_line_of_its_own() {
    let text = format!("local texts = {{}}\nreturn {{ about = texts.none or 3, {OPERATIONS} }}");
    let error = file(&text).unwrap_err().to_string();
    assert!(
        error.starts_with("my-lock.lua:2: `about` must be"),
        "{error}"
    );
    let text = format!("local t = {{ {OPERATIONS} }}\nt[\"about\"] = 3\nreturn t");
    let error = file(&text).unwrap_err().to_string();
    assert!(error.starts_with("my-lock.lua: `about` must be"), "{error}");
}

#[test]
fn it_changes_nothing_that_a_client_does() {
    for name in builtin_names() {
        let whole = LockFile::builtin(name).unwrap();
        let (before, _) = whole.text.rsplit_once("\n  about = {").unwrap();
        let bare = LockFile::from_text(name, &format!("{before}\n}}\n"), None).unwrap();
        assert_eq!(bare.about, Default::default(), "{name}");
        assert_eq!(whole.function_lines(), bare.function_lines(), "{name}");
        let (mut one, mut other) = (start_model_of(&whole), start_model_of(&bare));
        for input in [acquire(""), advance(STEP), reply(0, ok()), advance(STEP)] {
            let outputs = [&mut one, &mut other].map(|p| p.step(&input).unwrap_or_default());
            assert_eq!(outputs[0], outputs[1], "{name}");
        }
    }
}
