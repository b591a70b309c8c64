//! Files that a user names: reading them without being held up, names for new ones, and
//! writing them whole.

use std::fs::{File, Permissions};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use tempfile::NamedTempFile;

/// The text of a file of at most `most` bytes.
///
/// # Errors
/// What the system says; and if it is no plain file (opening a pipe or a device may wait for
/// ever, and reading it never end), if it is larger, or no UTF-8.
pub fn text(path: &Path, most: u64) -> Result<String> {
    let refused = |why: String| Error::new(ErrorKind::InvalidInput, why);
    let file = open_at_once(path)?;
    if !file.metadata()?.is_file() {
        return Err(refused(
            "it is a folder, a pipe or a device, and no file".into(),
        ));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(refused(format!("it is larger than {most} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| refused("it is no UTF-8 text".into()))
}

/// Opens what is read bit by bit: a file, or a pipe into which somebody writes.
///
/// # Errors
/// What the system says; and if it is a folder or a device, or a pipe into which nobody has
/// written for ten seconds.
pub fn open(path: &Path) -> Result<File> {
    let patience = rustix::time::Timespec {
        tv_sec: 10,
        tv_nsec: 0,
    };
    let file = open_at_once(path)?;
    let kind = file.metadata()?.file_type();
    if !kind.is_file() && !kind.is_fifo() {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            "it is a folder or a device, and no file",
        ));
    }
    if kind.is_fifo() {
        let mut ready = [PollFd::new(&file, PollFlags::IN)];
        if poll(&mut ready, Some(&patience))? == 0 {
            return Err(Error::new(
                ErrorKind::TimedOut,
                "it is a pipe into which nobody writes",
            ));
        }
        let flags = rustix::fs::fcntl_getfl(&file)?;
        rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    }
    Ok(file)
}

/// Opening a pipe without a writer would wait for ever.
fn open_at_once(path: &Path) -> Result<File> {
    let mut options = File::options();
    options.read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

/// A file in `dir` with this text, on the disk: it waits to be renamed to what it shall be,
/// so that a result is there whole or not at all. It is for everybody whom the process's
/// umask allows, as any new file.
///
/// # Errors
/// What the system says.
pub fn waiting(dir: &Path, text: &str) -> Result<NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix(".lockproof-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// The longest name of which a file's name is made, in bytes.
pub const NAME_BYTES: usize = 100;

/// What may stand in a name of which a file's name is made.
pub fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// A name that may stand in the name of a file, in a report and on a terminal.
pub fn is_name(name: &str) -> bool {
    name.len() <= NAME_BYTES && is_plain_name(name)
}

/// A name with a number behind it, `token-001`: twenty digits are the longest.
pub fn is_numbered_name(name: &str) -> bool {
    name.len() <= NAME_BYTES + 21 && is_plain_name(name)
}

fn is_plain_name(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    starts && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_of_bounded_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "four").unwrap();
        assert_eq!(text(&path, 4).unwrap(), "four");
        let why = |path: &Path, most| text(path, most).unwrap_err().to_string();
        assert_eq!(why(&path, 3), "it is larger than 3 bytes");
        std::fs::write(&path, [0xff]).unwrap();
        assert_eq!(why(&path, 4), "it is no UTF-8 text");
        let pipe = folder.path().join("pipe");
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, 0o600.into(), 0).unwrap();
        for none in [&pipe, folder.path(), Path::new("/dev/zero")] {
            assert_eq!(
                why(none, 4),
                "it is a folder, a pipe or a device, and no file"
            );
        }
    }

    #[test]
    fn a_pipe_is_read_if_somebody_writes_into_it() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, 0o600.into(), 0).unwrap();
        let writer = {
            let pipe = pipe.clone();
            std::thread::spawn(move || std::fs::write(pipe, "four").unwrap())
        };
        let mut text = String::new();
        open(&pipe).unwrap().read_to_string(&mut text).unwrap();
        writer.join().unwrap();
        assert_eq!(text, "four");
        for none in [folder.path(), Path::new("/dev/zero")] {
            let why = open(none).unwrap_err().to_string();
            assert_eq!(why, "it is a folder or a device, and no file");
        }
    }

    #[test]
    fn a_name_stays_in_its_folder() {
        for name in ["token", "Schloß.2", "_a-b", "1"] {
            assert!(is_name(name), "{name}");
        }
        let long = "a".repeat(NAME_BYTES + 1);
        for name in [
            "",
            ".",
            "..",
            "../a",
            "a/b",
            "-a",
            "a b",
            "a\n",
            "\u{1b}[2J",
            &long,
        ] {
            assert!(!is_name(name), "{name:?}");
        }
    }
}
