//! The locks and scripts that are built in: one list, used by everything.

/// A built-in lock file: its name and its text.
pub(crate) struct Builtin {
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! builtins {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(Builtin {
            name: $name,
            text: include_str!(concat!("../../", $folder, "/", $name, ".lua")),
        }),*]
    };
}

/// The lock files of `models/`, in the order of the catalogue.
pub(crate) const MODELS: &[Builtin] = builtins!("models":
    "setnx-expire",
    "getset-timestamp",
    "token",
    "token-wait",
    "token-renewed",
    "reentrant-hash",
    "redlock",
);

/// The scripts of `lua/`.
pub(crate) const SCRIPTS: &[Builtin] = builtins!("lua":
    "release_if_owner",
    "expire_if_owner",
    "hash_lock",
    "hash_unlock",
);

/// Names of the built-in locks, in the order of the catalogue.
pub fn builtin_names() -> Vec<&'static str> {
    MODELS.iter().map(|model| model.name).collect()
}

/// The text of the built-in script `name`.
pub(crate) fn builtin_script(name: &str) -> Option<&'static str> {
    let script = SCRIPTS.iter().find(|script| script.name == name)?;
    Some(script.text)
}
