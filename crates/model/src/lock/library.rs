//! Where the scripts of a lock file come from.

use std::collections::BTreeMap;
use std::path::Path;

use lockproof_input::files;

use super::error::LockError;
use super::registry;

/// The longest lock file or script, in bytes.
pub(super) const FILE_BYTES: u64 = 1 << 20;

/// Where a file finds the scripts that it names.
#[derive(Clone, Copy)]
pub(super) enum Library<'l> {
    /// In this folder, and among the built-in ones.
    Folder(Option<&'l Path>),
    /// Here alone: another text of this file has found them.
    Known(&'l BTreeMap<String, String>),
}

impl Library<'_> {
    /// The text of the script of this name; `None` if there is none.
    ///
    /// # Errors
    /// If its file can not be read.
    pub(super) fn script(self, name: &str) -> Result<Option<String>, LockError> {
        let (folder, known) = match self {
            Library::Folder(folder) => (folder, None),
            Library::Known(scripts) => (None, scripts.get(name)),
        };
        if let Some(text) = known {
            return Ok(Some(text.clone()));
        }
        let places = folder.map(|dir| [dir.join("lua"), dir.join("..").join("lua")]);
        let mut paths = places
            .iter()
            .flatten()
            .map(|dir| dir.join(format!("{name}.lua")));
        let Some(path) = paths.find(|path| path.is_file()) else {
            return Ok(registry::builtin_script(name).map(str::to_string));
        };
        let text = files::text(&path, FILE_BYTES).map_err(|source| LockError::Read {
            path: path.display().to_string(),
            source,
        })?;
        Ok(Some(text))
    }
}

/// What is wrong with a script, if it is no Lua that a server takes.
pub(super) fn compiles(name: &str, text: &str) -> Result<(), String> {
    let compiled = lockproof_redis::compile_script(text.as_bytes());
    compiled.map_err(|(line, why)| {
        format!("the script `{name}` does not compile: its line {line}: {why}")
    })
}
