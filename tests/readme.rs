//! The README shows real output: what stands there is what the program prints.

use std::path::Path;
use std::process::Command;

/// The README's example, run in a folder of its own, so that its traces land there.
fn printed(arguments: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_lockproof"))
        .args(arguments.split_whitespace())
        .env("NO_COLOR", "1")
        .current_dir(&folder)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_readme_shows_what_the_program_prints() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (_, after) = readme
        .split_once("<!-- output: ")
        .expect("the README has an example");
    let (arguments, after) = after.split_once(" -->\n```text\n").unwrap();
    let (shown, _) = after.split_once("```").unwrap();
    let real = printed(arguments);
    let lines = |text: &str| -> Vec<String> {
        text.trim()
            .lines()
            .map(|line| line.trim_end().to_owned())
            .collect()
    };
    assert_eq!(
        lines(shown),
        lines(&real),
        "run `{arguments}` and put its output into README.md"
    );
}
