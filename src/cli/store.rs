//! Finished worlds of a run, a file each, in the folder of its report.
//!
//! A file is the answer to one question, which stands in it in full, under the hash of both. It is
//! taken only if the hash is that of its content and the question is the one that is asked now, to
//! the letter; and the question names this program by the hash of its own bytes, so that no other
//! build's answer is ever taken. A file that is not whole is told, and the world is asked again.
//!
//! The hash finds accidents: a full disk, a bad copy, an edited line. It is no signature. Whoever may
//! write into the folder of a report may also write the report.
//!
//! Files are written beside their place and renamed, so a run that is killed leaves whole ones only.
//! Two runs never write here at once: the report's folder belongs to one ([`super::folder`]).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::Context;
use lockproof_input::files;
use sha2::{Digest, Sha256};

use super::{Failure, screen};

/// The first word of each file.
const SCHEMA: &str = "lockproof.kept/1";
/// The folder, below that of the report.
const FOLDER: &str = "kept";
/// No world has a larger file.
const MAX_BYTES: u64 = 1 << 28;

/// The folder of finished worlds.
pub struct Store {
    folder: PathBuf,
    /// Hash of this program.
    pub build: String,
    taken: AtomicUsize,
    written: AtomicUsize,
    /// It was said that nothing can be kept.
    told: AtomicBool,
}

impl Store {
    /// The store of the report in `out`, which belongs to this run. What an earlier run left half
    /// written is taken away.
    ///
    /// # Errors
    /// If the folder cannot be made, or this program cannot be read.
    pub fn open(out: &Path) -> Result<Store, Failure> {
        let folder = out.join(FOLDER);
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("failed to create {}", folder.display()))
            .map_err(Failure::internal)?;
        let entries = std::fs::read_dir(&folder)
            .with_context(|| format!("failed to read {}", folder.display()))
            .map_err(Failure::internal)?;
        for entry in entries.flatten() {
            let half = entry
                .file_name()
                .to_string_lossy()
                .starts_with(".lockproof-");
            if half && entry.file_type().is_ok_and(|kind| kind.is_file()) {
                // What cannot be taken away only takes room.
                let _ = std::fs::remove_file(entry.path());
            }
        }
        let program = std::fs::read("/proc/self/exe")
            .context("failed to read this program, whose answers are to be kept")
            .map_err(Failure::internal)?;
        Ok(Store {
            folder,
            build: hex(&program),
            taken: AtomicUsize::new(0),
            written: AtomicUsize::new(0),
            told: AtomicBool::new(false),
        })
    }

    /// The answer that was kept, if it is whole and answers this very question.
    pub fn recall(&self, question: &str) -> Option<String> {
        let path = self.path(question);
        let text = match files::text(&path, MAX_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => return refused(&path, &error.to_string()),
        };
        match whole(&text) {
            Some((asked, answer)) if asked == question => {
                self.taken.fetch_add(1, Ordering::Relaxed);
                Some(answer.to_owned())
            }
            Some(_) => refused(&path, "it answers another question"),
            None => refused(&path, "it is damaged: its hash is not that of its content"),
        }
    }

    /// Keeps an answer, whole or not at all. A full disk ends no run: it is said once.
    pub fn keep(&self, question: &str, answer: &str) {
        let body = format!("{question}\n{answer}\n");
        let text = format!("{SCHEMA} {}\n{body}", hex(body.as_bytes()));
        let path = self.path(question);
        let kept = files::waiting(&self.folder, &text)
            .and_then(|file| file.persist(&path).map_err(|failed| failed.error));
        match kept {
            Ok(_) => drop(self.written.fetch_add(1, Ordering::Relaxed)),
            Err(error) if !self.told.swap(true, Ordering::Relaxed) => screen::note(format_args!(
                "warning: failed to keep a finished world in {}: {error}; the run goes on, and could not be resumed from here",
                self.folder.display()
            )),
            Err(_) => {}
        }
    }

    /// How much of the run was taken from here.
    pub fn summary(&self) -> String {
        format!(
            "{} finished worlds taken from {}, {} kept there now",
            self.taken.load(Ordering::Relaxed),
            self.folder.display(),
            self.written.load(Ordering::Relaxed)
        )
    }

    fn path(&self, question: &str) -> PathBuf {
        self.folder
            .join(format!("{}.kept", hex(question.as_bytes())))
    }
}

/// Question and answer of a file, if its hash is that of both.
fn whole(text: &str) -> Option<(&str, &str)> {
    let (first, body) = text.split_once('\n')?;
    let hash = first.strip_prefix(SCHEMA)?.strip_prefix(' ')?;
    if hash != hex(body.as_bytes()) {
        return None;
    }
    body.strip_suffix('\n')?.split_once('\n')
}

fn refused(path: &Path, why: &str) -> Option<String> {
    screen::note(format_args!(
        "warning: {} is refused, and its world is asked again: {why}",
        path.display()
    ));
    None
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        })
}
