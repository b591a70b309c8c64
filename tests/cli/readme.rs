//! Documents show what is real: output that the program prints, commands that it
//! takes.

use std::path::Path;
use std::process::Command;

/// What a command prints in this folder.
fn printed(folder: &Path, arguments: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_lockproof"))
        .args(arguments.split_whitespace())
        .env("NO_COLOR", "1")
        .current_dir(folder)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn documents_show_what_the_program_prints() {
    shows_what_is_printed("README.md");
    shows_what_is_printed("docs/compare.md");
    shows_what_is_printed("docs/frontier.md");
    shows_what_is_printed("docs/mutate.md");
    shows_what_is_printed("docs/threads.md");
}

/// The document's example, and the one that goes on with its traces, in a folder of their own.
fn shows_what_is_printed(path: &str) {
    let folder = tempfile::tempdir().unwrap();
    let text = document(path);
    let mut examples = 0;
    for mark in ["<!-- output: ", "<!-- then: "] {
        let Some((_, after)) = text.split_once(mark) else {
            continue;
        };
        examples += 1;
        let (arguments, after) = after.split_once(" -->\n```text\n").unwrap();
        assert!(
            commands(&text).iter().any(|command| command == arguments),
            "{path} shows what `{arguments}` prints, and not the command"
        );
        let (shown, _) = after.split_once("```").unwrap();
        let real = printed(folder.path(), arguments);
        let lines = |text: &str| -> Vec<String> { text.trim().lines().map(steady).collect() };
        assert_eq!(
            lines(shown),
            lines(&real),
            "run `{arguments}` and put its output into {path}"
        );
    }
    assert!(examples > 0, "{path} has an example");
}

/// A line without what differs from run to run: process ids, and how long it took.
fn steady(line: &str) -> String {
    let without = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect();
    let line = line.trim_end();
    match (
        line.contains(" of setting up)"),
        line.split_once("to process "),
    ) {
        (true, _) => without(line),
        (_, Some((what, pid))) => format!("{what}to process{}", without(pid)),
        _ => line.to_owned(),
    }
}

fn document(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// Every `lockproof ...` command in a document's blocks of code, without its comment.
fn commands(text: &str) -> Vec<String> {
    let command = |line: &str| {
        let line = line
            .trim()
            .trim_start_matches("- ")
            .trim_start_matches("run: ");
        let command = line.strip_prefix("lockproof ")?;
        let command = command.split(" #").next()?;
        // What a CI system puts in.
        let command = command.replace("${{ matrix.part }}", "1");
        let command = command
            .replace("$CI_NODE_INDEX", "1")
            .replace("$CI_NODE_TOTAL", "3");
        Some(command.trim().to_owned())
    };
    let blocks = text.split("```").skip(1).step_by(2);
    blocks.flat_map(str::lines).filter_map(command).collect()
}

#[test]
fn every_command_in_the_documents_is_one() {
    let mut count = 0;
    for path in [
        "README.md",
        "docs/ci.md",
        "docs/packages.md",
        "docs/compose.md",
        "docs/scenarios.md",
        "docs/history.md",
        "docs/lock-files.md",
        "docs/compare.md",
        "docs/frontier.md",
        "docs/mutate.md",
    ] {
        for command in commands(&document(path)) {
            // Whatever comes before --help is parsed first.
            let mut words: Vec<&str> = command.split_whitespace().collect();
            words.push("--help");
            let output = Command::new(env!("CARGO_BIN_EXE_lockproof"))
                .args(&words)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "{path}: lockproof {command}: {said}"
            );
            count += 1;
        }
    }
    assert!(count > 20, "only {count} commands found");
    let output = Command::new(env!("CARGO_BIN_EXE_lockproof"))
        .args(["run", "--partition", "1/3", "--bassline", "x", "--help"])
        .output()
        .unwrap();
    assert!(!output.status.success(), "a misspelt option is found");
}

#[test]
fn the_ci_examples_are_yaml_with_the_steps_that_matter() {
    let text = document("docs/ci.md");
    for (name, steps) in [
        (
            "one-job",
            &["--baseline", "lockproof run", "scenario run"][..],
        ),
        (
            "github",
            &["uses: OWNER/lockproof@v", "matrix:", "baseline:"],
        ),
        (
            "github-parts",
            &[
                "uses: OWNER/lockproof@v",
                "partition:",
                "report merge",
                "--baseline",
            ],
        ),
        (
            "gitlab",
            &[
                "extends: .lockproof",
                "parallel:",
                "report merge",
                "--baseline",
            ],
        ),
    ] {
        let mark = format!("<!-- yaml: {name} -->\n```yaml\n");
        let (_, after) = text.split_once(&mark).expect("an example");
        let (yaml, _) = after.split_once("```").unwrap();
        let parsed: serde_json::Value = serde_norway::from_str(yaml).unwrap();
        assert!(parsed.as_object().unwrap().len() > 2, "{name}");
        for step in steps {
            assert!(yaml.contains(step), "{name}: {step}");
        }
    }
}

/// A table of docs/ci.md, the action itself, and the version that examples name.
#[test]
fn the_actions_inputs_and_version_are_those_of_the_document() {
    let text = document("docs/ci.md");
    let action: serde_json::Value = serde_norway::from_str(&document("action.yml")).unwrap();
    let inputs: Vec<&str> = action["inputs"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let (_, table) = text.split_once("| input | what it says |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let mut told: Vec<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    told.sort_unstable();
    let mut known = inputs.clone();
    known.sort_unstable();
    assert_eq!(told, known);
    let version = env!("CARGO_PKG_VERSION");
    for at in [
        "OWNER/lockproof@v",
        "OWNER/lockproof/v",
        "OWNER/lockproof:v",
    ] {
        for (_, after) in text
            .match_indices(at)
            .map(|(i, _)| text[i..].split_at(at.len()))
        {
            assert!(after.starts_with(version), "{at}{}", &after[..8]);
        }
    }
}
