//! ARCHITECTURE.md, as tests: who may use whom, and what a layer does not know.
//!
//! Sources are searched as text. That is coarse, but it cannot be fooled by a
//! re-export, and its message names the line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Each layer, and the other layers that it may name.
const MAY_USE: [(&str, &[&str]); 17] = [
    ("input", &[]),
    ("lua", &[]),
    ("threads", &[]),
    ("redis", &["lua"]),
    ("history", &["input"]),
    ("trace", &["input", "redis"]),
    ("lock", &["input", "lua", "redis", "trace"]),
    ("world", &["input", "lock", "lua", "redis", "trace"]),
    ("check", &["lock", "lua", "redis", "trace", "world"]),
    ("lab", &["redis", "trace"]),
    ("worker", &["lab", "lock", "redis", "trace"]),
    ("replay", &["lab", "lock", "redis", "trace"]),
    ("scenario", &["input", "lab", "world"]),
    (
        "torture",
        &[
            "history", "lab", "lock", "redis", "scenario", "trace", "world",
        ],
    ),
    ("report", &["check", "history", "input", "trace", "world"]),
    (
        "campaign",
        &[
            "check", "history", "input", "lab", "lock", "redis", "replay", "report", "scenario",
            "torture", "trace", "world",
        ],
    ),
    (
        "cli",
        &[
            "campaign", "check", "history", "input", "lab", "lock", "redis", "replay", "report",
            "scenario", "threads", "torture", "trace", "worker", "world",
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
        "lua" | "redis" | "world" | "check" | "history" | "scenario" | "threads" => {
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
const EXCEPTIONS: [(&str, &[&str]); 3] = [
    ("crates/model/src/check/stateright.rs", SOCKETS),
    ("crates/campaign/src/history.rs", FILES),
    ("crates/campaign/src/session.rs", FILES),
];

/// In no layer: the roots of crates with several, and the public face.
const OUTSIDE: [&str; 3] = ["crates/model/src/lib.rs", "src/lib.rs", "src/main.rs"];

/// A file: its path below the project's root, and its lines of code.
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

    /// The crate's folder (`src` of the program), and the file's path below its `src`.
    fn place(&self) -> (&str, &str) {
        let whole = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        let (folder, rest) = whole.split_once('/').unwrap_or((whole, ""));
        (folder, rest.strip_prefix("src/").unwrap_or(rest))
    }

    /// A crate is a layer; those of the program and of the model have one a folder.
    fn layer(&self) -> &str {
        match self.place() {
            ("src" | "model", below) => below.split(['/', '.']).next().unwrap_or_default(),
            (layer, _) => layer,
        }
    }

    /// The layers that are named: `lockproof_layer`, and where a crate has several
    /// `crate::layer` and `lockproof_model::layer`, also inside `use crate::{a, b::c}`.
    fn uses(&self) -> BTreeMap<&'static str, usize> {
        let several = matches!(self.place().0, "src" | "model");
        let roots = ["lockproof_model::", if several { "crate::" } else { "" }];
        let mut uses = BTreeMap::new();
        for (number, line) in &self.lines {
            for (layer, _) in MAY_USE {
                let whole = names(line, &format!("lockproof_{layer}"));
                let mut roots = roots.iter().filter(|root| !root.is_empty());
                if whole || roots.any(|root| is_below(line, root, layer)) {
                    uses.entry(layer).or_insert(*number);
                }
            }
        }
        uses
    }

    /// What is wrong with this file, one message a line.
    fn complaints(&self) -> Vec<String> {
        let layer = self.layer();
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == layer) else {
            return vec![format!("{} is in no layer", self.path)];
        };
        let mut complaints = Vec::new();
        for (used, line) in self.uses() {
            if used != layer && !allowed.contains(&used) {
                complaints.push(format!("{}:{line} uses {used}", self.path));
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
                    complaints.push(format!("{}:{number} names {word}", self.path));
                }
            }
        }
        complaints
    }
}

/// `line` names `root::layer`.
fn is_below(line: &str, root: &str, layer: &str) -> bool {
    line.match_indices(root).any(|(index, _)| {
        let rest = &line[index + root.len()..];
        match rest.strip_prefix('{') {
            Some(list) => list
                .split([',', '{', '}'])
                .any(|one| begins(one.trim(), layer)),
            None => begins(rest, layer),
        }
    })
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
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    rust_files(&root.join("src"), &mut files);
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        rust_files(&entry.unwrap().path().join("src"), &mut files);
    }
    files.sort();
    files
        .iter()
        .map(|path| {
            let below = path.strip_prefix(root).unwrap().to_str().unwrap();
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
        let files = sources();
        let file = files.iter().find(|source| source.layer() == layer);
        let folder = match file
            .unwrap_or_else(|| panic!("{layer} has no file"))
            .place()
        {
            ("src", _) => format!("src/{layer}/"),
            ("model", _) => format!("crates/model/src/{layer}/"),
            (layer, _) => format!("crates/{layer}/"),
        };
        assert!(text.contains(&format!("| `{folder}` |")), "{folder}");
    }
}

#[test]
fn the_real_side_shares_only_replies_with_the_formal_server() {
    for source in sources()
        .iter()
        .filter(|source| ["lab", "worker", "replay", "trace", "lock"].contains(&source.layer()))
    {
        for (number, line) in &source.lines {
            let Some((_, used)) = line.split_once("lockproof_redis::") else {
                continue;
            };
            // A lock file's scripts are compiled when it is loaded, and have a name.
            let scripts = ["compile_script", "script_sha"];
            let compiles = source.layer() == "lock" && scripts.iter().any(|one| begins(used, one));
            // A key's slot is a sum over its name, and nothing that a server does.
            let slots = source.layer() == "lab" && begins(used, "{Reply, SLOTS, slot}");
            // How a transaction is one command line, too.
            let multi = ["Multi", "{Multi, Reply}"];
            let only = ["Reply", "Bytes", "{Bytes, Reply}"]
                .into_iter()
                .chain(multi);
            assert!(
                compiles || slots || only.into_iter().any(|one| begins(used, one)),
                "{}:{number} uses lockproof_redis::{used}",
                source.path
            );
        }
    }
}

#[test]
fn the_report_knows_only_the_catalogue_of_the_world() {
    for source in sources().iter().filter(|source| source.layer() == "report") {
        for (number, line) in &source.lines {
            let whole = line.replace("lockproof_model::world::catalogue::", "");
            assert!(
                !is_below(&whole, "lockproof_model::", "world"),
                "{}:{number} uses more of the world than its catalogue: {line}",
                source.path
            );
        }
    }
}

#[test]
fn planted_breaches_are_found() {
    for (path, line, complaint) in [
        (
            "crates/redis/src/lib.rs",
            "use lockproof_model::world::World;",
            "uses world",
        ),
        (
            "crates/replay/src/run.rs",
            "use lockproof_model::{check, lock};",
            "uses check",
        ),
        (
            "crates/model/src/lock/file.rs",
            "use crate::{check, lock};",
            "uses check",
        ),
        (
            "crates/replay/src/lib.rs",
            "fn f(x: lockproof_model::world::World) {}",
            "uses world",
        ),
        (
            "crates/torture/src/lib.rs",
            "use lockproof_replay::GatePool;",
            "uses replay",
        ),
        (
            "crates/replay/src/run.rs",
            "use lockproof_report::html;",
            "uses report",
        ),
        ("src/worker/mod.rs", "crate::cli::main()", "uses cli"),
        (
            "crates/lab/src/server/mod.rs",
            "use lockproof_model::lock::Keys;",
            "uses lock",
        ),
        (
            "crates/model/src/world/rules/mod.rs",
            "let now = std::time::Instant::now();",
            "names Instant",
        ),
        (
            "crates/model/src/check/run.rs",
            "let text = std::fs::read(path)?;",
            "names std::fs",
        ),
        (
            "crates/model/src/check/run.rs",
            "use std::net::TcpListener;",
            "names std::net",
        ),
        (
            "crates/trace/src/lib.rs",
            "std::env::var(\"HOME\")",
            "names env::var",
        ),
        (
            "crates/report/src/html/mod.rs",
            "println!(\"x\")",
            "names println!",
        ),
        (
            "crates/history/src/reader.rs",
            "use lockproof_trace::Trace;",
            "uses trace",
        ),
        (
            "crates/history/src/reader.rs",
            "let file = std::fs::File::open(path)?;",
            "names std::fs",
        ),
        ("src/elsewhere/mod.rs", "", "in no layer"),
    ] {
        let complaints = Source::new(path, line).complaints().join("\n");
        assert!(complaints.contains(complaint), "{path}: `{complaints}`");
    }
}

#[test]
fn what_is_allowed_is_not_complained_about() {
    for (path, line) in [
        (
            "crates/model/src/check/stateright.rs",
            "use std::net::TcpListener;",
        ),
        (
            "crates/model/src/check/run.rs",
            "use crate::world::World; // not crate::cli",
        ),
        (
            "crates/model/src/lock/file.rs",
            "let text = std::fs::read_to_string(path);",
        ),
        (
            "crates/model/src/world/rules/mod.rs",
            "struct CrashInstants;",
        ),
        (
            "crates/redis/src/lib.rs",
            "#[cfg(test)]\nmod tests {\n use std::fs::File;",
        ),
    ] {
        let complaints = Source::new(path, line).complaints();
        assert!(complaints.is_empty(), "{path}: {complaints:?}");
    }
}

/// The guided hunt is a workspace of its own, which no other test builds.
#[test]
fn the_guided_hunt_depends_on_the_crates_that_its_targets_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap();
    let mut files = Vec::new();
    rust_files(&root.join("tests/fuzz"), &mut files);
    rust_files(&root.join("fuzz/fuzz_targets"), &mut files);
    let text: String = files
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    for (name, _) in text.match_indices("lockproof_") {
        let rest = &text[name + "lockproof_".len()..];
        let end = rest.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(0);
        let dependency = format!("\nlockproof-{} = ", &rest[..end]);
        assert!(manifest.contains(&dependency), "{dependency}");
    }
}
