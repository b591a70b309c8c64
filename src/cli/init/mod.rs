//! `lockproof init`: a lock file to begin with, and what CI needs to guard it.
//!
//! Nothing is written twice: the lock files and their scripts are built-in locks, word for word; the matrix
//! and the CI job are the examples of docs/ci.md; the scenario is the built-in `gc-pause`, for this lock
//! alone. A file that exists is never touched: if there is one, nothing is written at all.

mod template;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use lockproof_campaign::shell;

use self::template::{BASELINE, MATRIX, Planned, SCENARIO, Template};
use super::{Ended, Exit, Failure, screen, supervisor};

#[derive(clap::Args, Debug)]
#[command(
    after_help = "Nothing that exists is overwritten: then it says so, and writes nothing.\n\nExamples:\n  lockproof init\n  lockproof init my-service --template redlock"
)]
pub struct Args {
    /// The folder of the project, which is made if need be
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// The lock to begin with
    #[arg(long, value_enum, default_value_t = Template::Token)]
    template: Template,
}

/// Runs the subcommand.
pub fn run(args: Args) -> Ended {
    let folder = &args.folder;
    if folder.exists() && !folder.is_dir() {
        let error = anyhow!("{} is no folder; name another one", folder.display());
        return Err(Failure::usage(error));
    }
    supervisor::confine(Some(folder))
        .context("failed to lock this process in")
        .map_err(Failure::internal)?;
    let files = template::files(args.template)?;
    free(folder, &files)?;
    for file in &files {
        write(&folder.join(&file.path), &file.text)?;
    }
    told(folder, args.template, &files)?;
    Ok(Exit::Fine)
}

/// None of the files is there.
fn free(folder: &Path, files: &[Planned]) -> Result<(), Failure> {
    // A link that leads nowhere is there, too.
    let there = |file: &&Planned| folder.join(&file.path).symlink_metadata().is_ok();
    let taken = files.iter().filter(there);
    let taken: Vec<String> = taken
        .map(|file| folder.join(&file.path).display().to_string())
        .collect();
    if taken.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(anyhow!(
        "there is {} already, and nothing was written; move that away, or name another folder",
        taken.join(", ")
    )))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = || format!("failed to write {}", path.display());
    let written = path
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| File::create_new(path))
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(failed).map_err(Failure::internal)
}

/// What was written, and the commands with which to go on.
fn told(folder: &Path, template: Template, files: &[Planned]) -> Result<(), Failure> {
    let wide = files.iter().map(|file| file.path.len()).max().unwrap_or(0);
    for file in files {
        screen::print(format_args!("{:<wide$}  {}", file.path, file.what))?;
    }
    let here = folder == Path::new(".");
    let folder = folder.display().to_string();
    let enter = match here {
        true => String::new(),
        false => format!("  cd {}\n", shell::word(&folder)),
    };
    screen::print(format_args!(
        "\nNext:\n{enter}  lockproof check {lock}\n  lockproof run {MATRIX} --write-baseline {BASELINE}   # what CI \
         compares with\n  lockproof scenario run {SCENARIO} --free",
        lock = template.path(),
    ))
}
