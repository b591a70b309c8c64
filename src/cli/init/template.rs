//! What `init` writes, by template.

use anyhow::anyhow;
use clap::ValueEnum;
use lockproof_model::lock::LockFile;
use lockproof_scenario as scenario;

use super::super::Failure;

/// The shape of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Template {
    /// SET NX PX with a token; a script compares and deletes
    Token,
    /// SETNX, then EXPIRE in a second command, as tutorials show it
    SetnxExpire,
    /// A hash that counts its owner's holds, as Redisson's
    Reentrant,
    /// A majority of several independent servers
    Redlock,
    /// Many readers or one writer, as a document shows it: it breaks without any fault
    ReadWrite,
}

impl Template {
    /// The built-in lock that it is.
    pub fn lock(self) -> &'static str {
        match self {
            Template::Token => "token",
            Template::SetnxExpire => "setnx-expire",
            Template::Reentrant => "reentrant-hash",
            Template::Redlock => "redlock",
            Template::ReadWrite => "rw-hash",
        }
    }

    /// The lock file's path, below the project's folder.
    pub fn path(self) -> String {
        format!("locks/{}.lua", self.lock())
    }
}

/// A file that is to be written.
pub struct Planned {
    /// Below the project's folder.
    pub path: String,
    /// The whole file.
    pub text: String,
    /// What it is, in a few words.
    pub what: &'static str,
}

/// Where the matrix is.
pub const MATRIX: &str = "locks/matrix.toml";
/// Where `run --write-baseline` puts what is expected.
pub const BASELINE: &str = "locks/baseline.toml";
/// Where the scenario is.
pub const SCENARIO: &str = "locks/scenarios/pause.toml";
const WORKFLOW: &str = ".github/workflows/locks.yml";

/// The documentation whose examples are written.
const DOCS: &str = include_str!("../../../docs/ci.md");
/// The lock file of these examples.
const DOCUMENTED: &str = "locks/payment-lock.lua";
/// The story that the scenario tells.
const STORY: &str = "gc-pause";

/// All files of a template, in the order in which they are written.
///
/// # Errors
/// If an example or a story is not where it should be, which is a mistake of ours.
pub fn files(template: Template) -> Result<Vec<Planned>, Failure> {
    let lock = LockFile::builtin(template.lock()).map_err(Failure::internal)?;
    let file = |path: &str, text: String, what| Planned {
        path: path.to_owned(),
        text,
        what,
    };
    let mut files = vec![file(&template.path(), lock.text.to_string(), "the lock")];
    for (name, text) in lock.scripts.iter() {
        let path = format!("locks/lua/{name}.lua");
        files.push(file(&path, text.clone(), "a script of the lock"));
    }
    let matrix = example("matrix", "toml")?.replace(DOCUMENTED, &template.path());
    files.extend([
        file(MATRIX, matrix, "the faults under which CI checks it"),
        file(SCENARIO, story(template)?, "a story for free runs"),
        file(WORKFLOW, example("one-job", "yaml")?, "a job for GitHub"),
    ]);
    Ok(files)
}

/// A block of the documentation.
fn example(name: &str, language: &str) -> Result<String, Failure> {
    let mark = format!("<!-- {language}: {name} -->\n```{language}\n");
    let block = DOCS.split_once(&mark);
    let block = block.and_then(|(_, rest)| rest.split_once("```"));
    let block = block.ok_or_else(|| Failure::internal(anyhow!("docs/ci.md has no {name}")));
    block.map(|(text, _)| text.to_owned())
}

/// The built-in scenario for this lock alone, which is a file now.
fn story(template: Template) -> Result<String, Failure> {
    let lost = || Failure::internal(anyhow!("the scenario {STORY} lacks something"));
    let text = scenario::builtin(STORY).ok_or_else(lost)?;
    let (head, _) = text.split_once("[expect.").ok_or_else(lost)?;
    let head = head.replacen(&format!("name = \"{STORY}\""), "name = \"pause\"", 1);
    let table = format!("[expect.{}]\n", template.lock());
    let expected = match text.split_once(&table) {
        Some((_, rest)) => rest.split("\n[").next().unwrap_or(rest).trim_end(),
        None => READ_WRITE.trim_end(),
    };
    let file = template.path();
    Ok(format!("{head}{table}file = \"{file}\"\n{expected}\n"))
}

/// No built-in scenario is about a read-write lock. `rw-hash` breaks without any fault.
const READ_WRITE: &str = include_str!("read-write.toml");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_template_is_a_built_in_lock_word_for_word_with_the_hash_of_its_scripts() {
        for template in Template::value_variants() {
            let folder = tempfile::tempdir().unwrap();
            for file in files(*template).unwrap() {
                let path = folder.path().join(&file.path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, file.text).unwrap();
            }
            let written = LockFile::load(&folder.path().join(template.path())).unwrap();
            let built_in = LockFile::builtin(template.lock()).unwrap();
            assert_eq!(written.sha256, built_in.sha256, "{template:?}");
        }
    }

    #[test]
    fn each_file_is_made_for_the_lock_that_was_chosen() {
        for template in Template::value_variants() {
            for file in files(*template).unwrap() {
                assert!(
                    !file.text.contains(DOCUMENTED),
                    "{template:?}: {}",
                    file.path
                );
            }
        }
    }
}
