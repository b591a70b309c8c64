//! Lock files: loaded, and worked as a client of formal servers, in real numbers and
//! in the symbols of a model.

use lockproof_model::lock::{LockError, LockFile};

use super::{Form, Target, client, line_is_there, same};

pub const TARGET: Target = Target {
    name: "lock_file",
    run,
    form: Form::Text,
    seeds: &[
        ("models", "lua"),
        ("tests/fixtures/locks", "lua"),
        ("tests/hostile", "lua"),
    ],
    words: &[
        "acquire = ",
        "release = ",
        "function(lock)",
        "return ",
        "redis(",
        "on(",
        "script(",
        "held(",
        "busy()",
        "failed(",
        "done(",
        "lost()",
        "sleep(",
        "now()",
        "monotonic()",
        "random(",
        "spawn(",
        "every(",
        "wait(",
        "subscribe(",
        "lock.key",
        "lock.token",
        "lock.ttl",
        "lock.nodes",
        "lock.owner",
        "self.",
        "scripts = ",
        "params = ",
        "nodes = ",
        "keys = ",
        "renews = true",
        "reentrant = true",
        "ttl_step = ",
        "name = ",
        "description = ",
        "about = { works = ",
        "[[",
        "]]",
        "local ",
        "if ",
        " then ",
        " end ",
        "for i = 1, ",
        " do ",
        "while ",
        "..",
        "'SET'",
        "'NX'",
        "'PX'",
        "string.rep(",
        "string.format(",
        "setmetatable(",
        "pcall(",
        "error(",
        "\\0",
    ],
    inputs: 300,
};

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    match LockFile::from_text("fuzz.lua", &text, None) {
        Ok(file) => {
            let again = LockFile::from_text("fuzz.lua", &text, None).expect("it could be loaded");
            same("its hash", &file.sha256, &again.sha256);
            same("its name", &file.name, &again.name);
            same("its parameters", &bits(&file), &bits(&again));
            client::work(&file);
        }
        Err(error) => explained(&error, text.as_bytes()),
    }
}

fn bits(file: &LockFile) -> Vec<u64> {
    file.params.values().map(|value| value.to_bits()).collect()
}

/// The error names the file, and if it names a line, one that is there.
pub fn explained(error: &LockError, text: &[u8]) {
    let words = error.to_string();
    assert!(words.contains("fuzz.lua"), "no file in `{words}`");
    if let LockError::Syntax { at, .. } | LockError::Run { at, .. } | LockError::Refused { at, .. } =
        error
        && let Some(line) = at.strip_prefix("fuzz.lua:")
    {
        let line: usize = line.parse().expect("a line's number");
        line_is_there(line, text);
    }
}
