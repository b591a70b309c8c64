//! The inputs that a hunt begins with, in an order that every machine has.

use std::path::{Path, PathBuf};

use crate::targets::Target;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Inputs that failed once, then the seeds; each with its file.
pub fn corpus(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let own = |kind: &str| root().join("tests/fuzz").join(kind).join(target.name);
    let mut files = files(&own("found"), "");
    files.extend(self::files(&own("corpus"), ""));
    for (folder, ending) in target.seeds {
        files.extend(self::files(&root().join(folder), ending));
    }
    let read = |path: PathBuf| {
        let text = std::fs::read(&path).expect("a seed can be read");
        (path, text)
    };
    files.into_iter().map(read).collect()
}

/// The files of a folder by name; none if there is no such folder.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a folder can be read").path())
        .filter(|path| path.is_file() && path.to_string_lossy().ends_with(ending))
        .collect();
    files.sort();
    files
}
