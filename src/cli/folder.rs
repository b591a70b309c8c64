//! A folder into which one run writes at a time.
//!
//! Two runs that write into one folder would leave a report that is neither's, and one
//! history of the lines of both. A file in the folder is locked (flock(2)) as long as a
//! run writes there; a run that is killed holds no lock any more, so nothing is ever to
//! be cleared up by hand.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use super::{Failure, screen};

/// The locked file's name.
const NAME: &str = ".lockproof.lock";
/// How often a lock that its holder just took away is taken anew.
const TRIES: usize = 100;

/// A folder that is ours until this value goes.
#[must_use]
pub struct OwnFolder {
    path: PathBuf,
    file: File,
    /// Folders that were made for this, the innermost first.
    made: Vec<PathBuf>,
}

impl OwnFolder {
    /// Makes the folder if it is not there, and takes it. `None` where the file system
    /// knows no locks: that is said, and nothing is refused.
    ///
    /// # Errors
    /// Another run writes there, or it cannot be made.
    pub fn take(folder: &Path) -> Result<Option<OwnFolder>, Failure> {
        let made: Vec<PathBuf> = folder
            .ancestors()
            .take_while(|one| !one.as_os_str().is_empty() && !one.exists())
            .map(Path::to_owned)
            .collect();
        let path = folder.join(NAME);
        let failed = || format!("failed to lock {}", path.display());
        for _ in 0..TRIES {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("failed to write into {}", folder.display()))
                .map_err(Failure::internal)?;
            let mut file = match open(&path) {
                // A run that wrote nothing just took the folder away.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.with_context(failed).map_err(Failure::internal)?,
            };
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(taken(folder, &mut file)),
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    screen::note(format_args!(
                        "warning: {} cannot be locked ({error}); see that no other run writes there",
                        folder.display()
                    ));
                    return Ok(None);
                }
                locked => locked.with_context(failed).map_err(Failure::internal)?,
            }
            // Its last holder may have taken it away before we locked it.
            if is_at(&file, &path) {
                // Only for who meets the lock; it holds without.
                let _ = file
                    .set_len(0)
                    .and_then(|()| writeln!(file, "{}", std::process::id()));
                return Ok(Some(OwnFolder { path, file, made }));
            }
        }
        Err(Failure::internal(anyhow!(
            "failed to lock {}: other runs take it again and again",
            path.display()
        )))
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        // Taken away under the lock, so that it is no other run's. What fails here
        // leaves a file that nobody holds.
        let _ = std::fs::remove_file(&self.path);
        let _ = self.file.unlock();
        // Where nothing was written nothing was begun. What is not empty stays.
        let mut made = self.made.iter();
        let _ = made.try_for_each(std::fs::remove_dir);
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        // A link there may lead anywhere, and a pipe would be waited for.
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
}

fn is_at(file: &File, path: &Path) -> bool {
    let id = |found: std::fs::Metadata| (found.dev(), found.ino());
    let there = std::fs::symlink_metadata(path).map(id).ok();
    there.is_some() && file.metadata().map(id).ok() == there
}

fn taken(folder: &Path, file: &mut File) -> Failure {
    let mut pid = String::new();
    let _ = file.rewind();
    let _ = file.take(32).read_to_string(&mut pid);
    let who = match pid.trim().parse::<u32>() {
        Ok(pid) => format!("process {pid}"),
        Err(_) => "another run".into(),
    };
    Failure::usage(anyhow!(
        "{who} writes into {} just now; wait until it has ended, or give this run another folder with --out",
        folder.display()
    ))
}
