//! Reading what a user names: a file, and not too much of it.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The text of a file of at most `most` bytes.
///
/// # Errors
/// What the system says; and if it is no plain file (opening a pipe or a device may wait for
/// ever, and reading it never end), if it is larger, or no UTF-8.
pub fn text(path: &Path, most: u64) -> Result<String> {
    let refused = |why: String| Error::new(ErrorKind::InvalidInput, why);
    // A pipe without a writer would be waited for.
    let file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
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
}
