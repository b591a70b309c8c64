//! Folders for temporary files, and what a killed run left of them.
//!
//! A process has one folder, called `lockproof-` and six letters, where TMPDIR says, and
//! its servers have theirs inside. It goes with the last of them. A process that is
//! killed cannot clear up, so whoever makes such a folder first takes away those of dead
//! owners.
//!
//! Who is dead? A file in the folder is locked (flock(2)) by its owner for as long as
//! that lives; the kernel lets go of it with the process, whatever ended that. The
//! lock is there before the file has its name, so nobody finds it free too early.
//!
//! Rejected: the owner's process id, with or without its start time. A number is taken
//! again, and one of another PID namespace (a container that shares /tmp) says nothing.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::fs::OFlags;
use rustix::process::geteuid;
use tempfile::TempDir;

/// What the names of folders begin with.
const PREFIX: &str = "lockproof-";
/// The locked file of a folder.
const OWNER: &str = "owner";
/// Its name before it is locked.
const UNNAMED: &str = "new";
/// What stands in it: a folder of somebody else's that has such a file has other words.
const WORDS: &str = "A lockproof that runs keeps its temporary files here (lockproof.scratch/1).\n";

/// A folder for the files of one server. It goes with this value.
#[derive(Debug)]
pub struct Scratch {
    // Dropped in this order.
    folder: TempDir,
    _root: Arc<Root>,
}

impl Scratch {
    /// Makes a folder whose name begins with `what`.
    ///
    /// # Errors
    /// If there is no room, or TMPDIR is no folder that can be written.
    pub fn new(what: &str) -> io::Result<Scratch> {
        let root = Root::shared()?;
        let folder = tempfile::Builder::new()
            .prefix(&format!("{what}-"))
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&root.folder)?;
        open_to_us(folder.path())?;
        Ok(Scratch {
            folder,
            _root: root,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// The folder of this process.
#[derive(Debug)]
struct Root {
    folder: PathBuf,
    /// Locked.
    _owner: File,
}

static ROOT: Mutex<Weak<Root>> = Mutex::new(Weak::new());

impl Root {
    fn shared() -> io::Result<Arc<Root>> {
        let mut known = ROOT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(root) = known.upgrade() {
            return Ok(root);
        }
        let root = Arc::new(Root::create()?);
        *known = Arc::downgrade(&root);
        Ok(root)
    }

    fn create() -> io::Result<Root> {
        let made = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir()
            .map_err(where_it_is_said)?;
        open_to_us(made.path())?;
        let folder = made.keep();
        let owner = match own(&folder) {
            Ok(owner) => owner,
            Err(error) => {
                // Without opening anything: there may be no descriptor left.
                let _ = std::fs::remove_file(folder.join(UNNAMED));
                let _ = std::fs::remove_dir(&folder);
                return Err(where_it_is_said(error));
            }
        };
        let root = Root {
            folder,
            _owner: owner,
        };
        if let Some(parent) = root.folder.parent() {
            sweep(parent);
        }
        Ok(root)
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        // What cannot be taken away now, the next one tries.
        let _ = clear(&self.folder);
    }
}

fn where_it_is_said(error: io::Error) -> io::Error {
    let text = format!("{error}; set TMPDIR to a folder that can be written and has room");
    io::Error::new(error.kind(), text)
}

/// Whatever the umask says.
fn open_to_us(folder: &Path) -> io::Result<()> {
    std::fs::set_permissions(folder, Permissions::from_mode(0o700))
}

/// Makes the locked file. It gets its name when it is locked.
fn own(folder: &Path) -> io::Result<File> {
    let unnamed = folder.join(UNNAMED);
    let mut owner = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&unnamed)?;
    owner.lock()?;
    owner.write_all(WORDS.as_bytes())?;
    std::fs::rename(&unnamed, folder.join(OWNER))?;
    Ok(owner)
}

/// Takes away the folders of dead owners in `parent`. What cannot be, stays.
fn sweep(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        if !entry.file_name().to_str().is_some_and(is_ours_by_name) {
            continue;
        }
        // Held until the folder is gone: of two that sweep, one does it.
        if let Some(_lock) = dead(&entry.path()) {
            let _ = clear(&entry.path());
        }
    }
}

fn is_ours_by_name(name: &str) -> bool {
    let rest = name.strip_prefix(PREFIX).unwrap_or_default();
    (1..=32).contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The lock of a folder that is ours and whose owner is dead.
fn dead(folder: &Path) -> Option<File> {
    let own = |found: &Metadata| found.uid() == geteuid().as_raw();
    // A link is not followed.
    let found = std::fs::symlink_metadata(folder).ok()?;
    if !found.is_dir() || !own(&found) || found.mode() & 0o077 != 0 {
        return None;
    }
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut owner = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(folder.join(OWNER))
        .ok()?;
    let found = owner.metadata().ok()?;
    if !found.is_file() || !own(&found) {
        return None;
    }
    let mut words = Vec::new();
    let most = WORDS.len() as u64 + 1;
    (&mut owner).take(most).read_to_end(&mut words).ok()?;
    (words == WORDS.as_bytes()).then_some(())?;
    owner.try_lock().ok()?;
    Some(owner)
}

/// Takes a folder away, the locked file last: until then it is known for what it is,
/// also if this is killed half-way.
fn clear(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)?.flatten() {
        if entry.file_name() == OWNER {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => std::fs::remove_dir_all(entry.path())?,
            false => std::fs::remove_file(entry.path())?,
        }
    }
    std::fs::remove_file(folder.join(OWNER))?;
    std::fs::remove_dir(folder)
}

#[cfg(test)]
mod tests {
    use std::fs::DirBuilder;
    use std::os::unix::fs::DirBuilderExt;

    use super::*;

    /// A folder as its owner left it when it was killed.
    fn left(parent: &Path, name: &str) -> PathBuf {
        let folder = parent.join(name);
        DirBuilder::new().mode(0o700).create(&folder).unwrap();
        drop(own(&folder).unwrap());
        std::fs::create_dir(folder.join("server-1")).unwrap();
        std::fs::write(folder.join("server-1/appendonly.aof"), "x").unwrap();
        folder
    }

    #[test]
    fn the_folder_of_a_dead_owner_goes_and_that_of_a_living_one_stays() {
        let parent = tempfile::tempdir().unwrap();
        let dead = left(parent.path(), "lockproof-dead01");
        let living = left(parent.path(), "lockproof-alive1");
        std::fs::remove_file(living.join(OWNER)).unwrap();
        let owner = own(&living).unwrap();
        sweep(parent.path());
        assert!(!dead.exists());
        assert!(living.join("server-1/appendonly.aof").exists());
        drop(owner);
        sweep(parent.path());
        assert!(!living.exists());
    }

    #[test]
    fn what_is_not_ours_stays_whatever_its_name_is() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        let foreign = left(parent.path(), "lockproof-foreign");
        std::fs::write(foreign.join(OWNER), "mine").unwrap();
        let plain = left(parent.path(), "lockproof-plain");
        std::fs::remove_file(plain.join(OWNER)).unwrap();
        let named = left(parent.path(), "lockproof-my-results");
        let open = left(parent.path(), "lockproof-open");
        std::fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
        let elsewhere = left(parent.path(), "elsewhere");
        std::os::unix::fs::symlink(&elsewhere, at("lockproof-link")).unwrap();
        std::fs::write(at("lockproof-file"), "x").unwrap();
        let borrowed = left(parent.path(), "lockproof-borrowed");
        std::fs::remove_file(borrowed.join(OWNER)).unwrap();
        std::os::unix::fs::symlink(elsewhere.join(OWNER), borrowed.join(OWNER)).unwrap();
        sweep(parent.path());
        for folder in [&foreign, &plain, &named, &open, &elsewhere, &borrowed] {
            assert!(
                folder.join("server-1/appendonly.aof").exists(),
                "{folder:?}"
            );
        }
        assert!(at("lockproof-link").is_symlink() && at("lockproof-file").exists());
    }

    #[test]
    fn links_inside_of_a_dead_folder_are_taken_away_and_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let kept = parent.path().join("kept");
        std::fs::create_dir(&kept).unwrap();
        std::fs::write(kept.join("file"), "x").unwrap();
        let dead = left(parent.path(), "lockproof-dead01");
        std::os::unix::fs::symlink(&kept, dead.join("link")).unwrap();
        std::os::unix::fs::symlink(&kept, dead.join("server-1/link")).unwrap();
        sweep(parent.path());
        assert!(!dead.exists() && kept.join("file").exists());
    }

    #[test]
    fn what_a_killed_sweep_left_is_swept_by_the_next() {
        let parent = tempfile::tempdir().unwrap();
        let dead = left(parent.path(), "lockproof-dead01");
        std::fs::remove_dir_all(dead.join("server-1")).unwrap();
        sweep(parent.path());
        assert!(!dead.exists());
    }

    #[test]
    fn folders_are_for_their_owner_alone_and_go_with_the_last_of_them() {
        let (one, other) = (Scratch::new("a").unwrap(), Scratch::new("b").unwrap());
        let root = one.path().parent().unwrap().to_owned();
        assert_eq!(other.path().parent(), Some(root.as_path()));
        for folder in [one.path(), &root] {
            let mode = std::fs::metadata(folder).unwrap().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists() && other.path().exists());
    }
}
