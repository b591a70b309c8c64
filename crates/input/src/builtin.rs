//! Files of the source tree that are built into the program.

/// A file: its name without the ending, and its text.
pub struct Builtin {
    /// As users write it.
    pub name: &'static str,
    /// The whole file.
    pub text: &'static str,
}

/// `builtins!("models", ".lua": "token", ...)`: those files, in that order.
#[macro_export]
macro_rules! builtins {
    ($folder:literal, $ending:literal: $($name:literal),* $(,)?) => {
        &[$($crate::Builtin {
            name: $name,
            text: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"), "/", $folder, "/", $name, $ending
            )),
        }),*]
    };
}

/// The names in `files`.
pub fn names(files: &[Builtin]) -> Vec<&'static str> {
    files.iter().map(|file| file.name).collect()
}

/// The text of the file `name`.
pub fn text(files: &[Builtin], name: &str) -> Option<&'static str> {
    let file = files.iter().find(|file| file.name == name)?;
    Some(file.text)
}
