//! ARCHITECTURE.md, as tests: who may use whom, and what a layer does not know.
//!
//! Sources are searched as text. That is coarse, but it cannot be fooled by a
//! re-export, and its message names the line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Each layer, and the other layers that it may name.
const MAY_USE: [(&str, &[&str]); 15] = [
    ("lua", &[]),
    ("redis", &["lua"]),
    ("history", &[]),
    ("trace", &["redis"]),
    ("lock", &["lua", "redis", "trace"]),
    ("world", &["lock", "lua", "redis", "trace"]),
    ("check", &["lock", "lua", "redis", "trace", "world"]),
    ("lab", &["redis", "trace"]),
    ("worker", &["lab", "lock", "redis", "trace"]),
    ("replay", &["lab", "lock", "redis", "trace"]),
    ("scenario", &["lab", "world"]),
    (
        "torture",
        &[
            "history", "lab", "lock", "redis", "scenario", "trace", "world",
        ],
    ),
    ("report", &["check", "history", "trace"]),
    (
        "campaign",
        &[
            "check", "history", "lab", "lock", "redis", "replay", "report", "scenario", "torture",
            "trace", "world",
        ],
    ),
    (
        "cli",
        &[
            "campaign", "check", "history", "lab", "lock", "redis", "replay", "report", "scenario",
            "torture", "trace", "worker", "world",
        ],
    ),
];

const CLOCKS: &[&str] = &["SystemTime", "Instant", "thread::sleep", "tokio::time"];
const SOCKETS: &[&str] = &[
    "std::net",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "tokio::net",
];
const FILES: &[&str] = &["std::fs", "File::", "std::process", "tokio::fs"];
const ENVIRONMENT: &[&str] = &["env::var", "env::args", "env::set_var", "env::temp_dir"];
const TERMINAL: &[&str] = &["clap", "println!", "print!(", "anstream::", "indicatif"];

/// What the layers may not name. `current_exe` is no environment variable: the
/// real side looks for its programs beside itself.
fn may_not_name(layer: &str) -> Vec<&'static [&'static str]> {
    match layer {
        "lua" | "redis" | "world" | "check" | "history" | "scenario" => {
            vec![CLOCKS, SOCKETS, FILES, ENVIRONMENT, TERMINAL]
        }
        "lock" => vec![
            CLOCKS,
            SOCKETS,
            ENVIRONMENT,
            TERMINAL,
            &["stateright", "tokio"],
        ],
        "trace" | "report" => vec![CLOCKS, SOCKETS, ENVIRONMENT, TERMINAL],
        "campaign" => vec![CLOCKS, SOCKETS, FILES, ENVIRONMENT, TERMINAL],
        "lab" | "worker" | "replay" | "torture" => vec![ENVIRONMENT, TERMINAL, &["stateright"]],
        _ => vec![],
    }
}

/// The exceptions that ARCHITECTURE.md names: file, and what it may name.
const EXCEPTIONS: [(&str, &[&str]); 1] = [("check/stateright.rs", SOCKETS)];

/// In no layer: the crate's root, and what every layer may use.
const OUTSIDE: [&str; 6] = [
    "lib.rs",
    "main.rs",
    "builtin.rs",
    "files.rs",
    "nearest.rs",
    "shell.rs",
];

/// A file of `src/`: its path below `src/`, and its lines of code.
struct Source {
    path: String,
    lines: Vec<(usize, String)>,
}

impl Source {
    fn new(path: &str, text: &str) -> Source {
        // Unit tests stand at the end of a file and may do what they like.
        let code = text
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or(text);
        let lines = code
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line.split("//").next().unwrap_or("").to_owned()))
            .collect();
        Source {
            path: path.into(),
            lines,
        }
    }

    fn layer(&self) -> &str {
        self.path.split(['/', '.']).next().unwrap_or_default()
    }

    /// The layers named in `crate::layer`, also inside `use crate::{a, b::c}`.
    fn uses(&self) -> BTreeMap<&'static str, usize> {
        let mut uses = BTreeMap::new();
        for (number, line) in &self.lines {
            for (index, _) in line.match_indices("crate::") {
                let rest = &line[index + "crate::".len()..];
                for (layer, _) in MAY_USE {
                    let named = match rest.strip_prefix('{') {
                        Some(list) => list
                            .split([',', '{', '}'])
                            .any(|one| begins(one.trim(), layer)),
                        None => begins(rest, layer),
                    };
                    if named {
                        uses.entry(layer).or_insert(*number);
                    }
                }
            }
        }
        uses
    }

    /// What is wrong with this file, one message a line.
    fn complaints(&self) -> Vec<String> {
        let layer = self.layer();
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == layer) else {
            return vec![format!("src/{} is in no layer", self.path)];
        };
        let mut complaints = Vec::new();
        for (used, line) in self.uses() {
            if used != layer && !allowed.contains(&used) {
                complaints.push(format!("src/{}:{line} uses {used}", self.path));
            }
        }
        let excepted: &[&str] = EXCEPTIONS
            .iter()
            .find(|(path, _)| *path == self.path)
            .map_or(&[], |(_, words)| *words);
        let forbidden = may_not_name(layer).concat();
        for (number, line) in &self.lines {
            for word in forbidden.iter().filter(|word| !excepted.contains(*word)) {
                if names(line, word) {
                    complaints.push(format!("src/{}:{number} names {word}", self.path));
                }
            }
        }
        complaints
    }
}

fn begins(text: &str, word: &str) -> bool {
    let next = text.strip_prefix(word).map(|rest| rest.chars().next());
    next.is_some_and(|next| next.is_none_or(|next| !next.is_alphanumeric() && next != '_'))
}

/// `word` stands in `line`, and not as the end of a longer name.
fn names(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(index, _)| {
        let before = line[..index].chars().next_back();
        before.is_none_or(|before| !before.is_alphanumeric() && before != '_')
    })
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&root, &mut files);
    files.sort();
    files
        .iter()
        .map(|path| {
            let below = path.strip_prefix(&root).unwrap().to_str().unwrap();
            Source::new(below, &std::fs::read_to_string(path).unwrap())
        })
        .filter(|source| !OUTSIDE.contains(&source.path.as_str()))
        .collect()
}

#[test]
fn every_file_keeps_to_its_layer() {
    let sources = sources();
    assert!(sources.len() > 80, "only {} files found", sources.len());
    let complaints: Vec<String> = sources.iter().flat_map(Source::complaints).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_layer_is_in_the_map() {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md"))
            .unwrap();
    for (layer, _) in MAY_USE {
        assert!(text.contains(&format!("| `src/{layer}/` |")), "{layer}");
        let files = sources();
        assert!(
            files.iter().any(|source| source.layer() == layer),
            "{layer}"
        );
    }
}

#[test]
fn the_real_side_shares_only_replies_with_the_formal_server() {
    for source in sources()
        .iter()
        .filter(|source| ["lab", "worker", "replay", "trace", "lock"].contains(&source.layer()))
    {
        for (number, line) in &source.lines {
            let Some((_, used)) = line.split_once("crate::redis::") else {
                continue;
            };
            // A lock file's scripts are compiled when it is loaded.
            let compiles = source.layer() == "lock" && begins(used, "compile_script");
            let only = ["Reply", "Bytes", "{Bytes, Reply}"];
            assert!(
                compiles || only.iter().any(|one| begins(used, one)),
                "src/{}:{number} uses crate::redis::{used}",
                source.path
            );
        }
    }
}

#[test]
fn planted_breaches_are_found() {
    for (path, line, complaint) in [
        ("redis/mod.rs", "use crate::world::World;", "uses world"),
        ("replay/run.rs", "use crate::{check, trace};", "uses check"),
        (
            "replay/mod.rs",
            "fn f(x: crate::world::World) {}",
            "uses world",
        ),
        (
            "lab/client/mod.rs",
            "use crate::replay::GatePool;",
            "uses replay",
        ),
        ("lab/client/mod.rs", "crate::worker::main()", "uses worker"),
        ("lab/server/mod.rs", "use crate::lock::Keys;", "uses lock"),
        (
            "world/rules/mod.rs",
            "let now = std::time::Instant::now();",
            "names Instant",
        ),
        (
            "check/run.rs",
            "let text = std::fs::read(path)?;",
            "names std::fs",
        ),
        (
            "check/run.rs",
            "use std::net::TcpListener;",
            "names std::net",
        ),
        ("trace/mod.rs", "std::env::var(\"HOME\")", "names env::var"),
        ("report/html.rs", "println!(\"x\")", "names println!"),
        (
            "history/reader.rs",
            "use crate::trace::Trace;",
            "uses trace",
        ),
        (
            "history/reader.rs",
            "let file = std::fs::File::open(path)?;",
            "names std::fs",
        ),
        ("elsewhere/mod.rs", "", "in no layer"),
    ] {
        let complaints = Source::new(path, line).complaints().join("\n");
        assert!(complaints.contains(complaint), "{path}: `{complaints}`");
    }
}

#[test]
fn what_is_allowed_is_not_complained_about() {
    for (path, line) in [
        ("check/stateright.rs", "use std::net::TcpListener;"),
        ("check/run.rs", "use crate::world::World; // not crate::cli"),
        ("lock/file.rs", "let text = std::fs::read_to_string(path);"),
        ("world/rules/mod.rs", "struct CrashInstants;"),
        (
            "redis/mod.rs",
            "#[cfg(test)]\nmod tests {\n use std::fs::File;",
        ),
    ] {
        let complaints = Source::new(path, line).complaints();
        assert!(complaints.is_empty(), "{path}: {complaints:?}");
    }
}
