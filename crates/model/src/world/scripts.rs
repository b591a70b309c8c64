//! The scripts that a server knows by their SHA-1.
//!
//! EVAL and SCRIPT LOAD make a script known. A server forgets all scripts when it starts
//! again, whatever its persistence keeps, and at SCRIPT FLUSH. FLUSHALL leaves them alone. No
//! server tells another one of them (since Redis 7.0 a replica gets what a script wrote, not
//! the script), so a replica that takes over knows none. A world keeps those scripts only
//! that some command names by SHA-1.

use std::collections::BTreeSet;
use std::sync::Arc;

use lockproof_lua::text;
use lockproof_redis::{Bytes, Server, script_sha};

/// SHA-1 of scripts, in lower case.
pub type ScriptNames = BTreeSet<String>;

/// Texts of scripts that a server knows, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Scripts(Vec<Arc<[u8]>>);

impl Scripts {
    /// Those that a server knows and that can be asked for.
    pub fn of(server: &Server, by_sha: &ScriptNames) -> Scripts {
        if by_sha.is_empty() {
            return Scripts::default();
        }
        let asked = |source: &&Arc<[u8]>| by_sha.contains(&script_sha(source));
        Scripts(server.scripts().filter(asked).cloned().collect())
    }

    pub fn load_into(&self, server: &mut Server) {
        for source in &self.0 {
            server.insert_script(source);
        }
    }
}

/// The scripts that a command names by SHA-1.
///
/// # Errors
/// In words, if nobody knows which those are.
pub(super) fn named(argv: &[Bytes]) -> Result<ScriptNames, String> {
    let is = |at: usize, word: &str| {
        argv.get(at)
            .is_some_and(|given| given.eq_ignore_ascii_case(word.as_bytes()))
    };
    let names = match () {
        () if is(0, "evalsha") => argv.get(1..2),
        () if is(0, "script") && is(1, "exists") => argv.get(2..),
        () if is(0, "script") && is(1, "load") => {
            if argv
                .get(2)
                .is_some_and(|source| source.contains(&text::MARK))
            {
                return Err(
                    "loads a script whose text has a token, an owner or a time in it".into(),
                );
            }
            None
        }
        () => None,
    };
    let names = names.unwrap_or_default();
    if names.iter().any(|name| name.contains(&text::MARK)) {
        return Err("names a script by a token, an owner or a time".into());
    }
    let lower = |name: &Bytes| String::from_utf8_lossy(name).to_lowercase();
    Ok(names.iter().map(lower).collect())
}
