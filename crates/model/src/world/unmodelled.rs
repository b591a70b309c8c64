//! What a lock may not send, because the model would answer it wrongly.
//!
//! What a command or a script does beyond the formal server, the server itself notes
//! while it executes it ([`lockproof_redis::Notes`]).

use lockproof_redis::{Bytes, Command, Dialect, Multi, commands};

use super::elsewhere;

/// What SCRIPT can do in a world.
const SCRIPT: [&str; 3] = ["load", "exists", "flush"];

/// Parts of a transaction, which is one message in a world.
const PARTS: [&str; 3] = ["multi", "exec", "discard"];

/// Why a lock may not send something, as the end of "the lock ..".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmodelled {
    /// No server has such a command: a mistake in the lock file.
    Nowhere(String),
    /// Servers have it, and the model has not.
    Lacks(String),
}

/// Examines a command line that the lock file sends.
///
/// # Errors
/// What of it is not in the model.
pub fn examine(argv: &[Bytes], dialect: Dialect) -> Result<(), Unmodelled> {
    match Multi::of(argv) {
        Some(multi) => {
            let mut commands = multi.commands.into_iter();
            commands.try_for_each(|command| examine_one(command, dialect))
        }
        None => examine_one(argv, dialect),
    }
}

fn examine_one(argv: &[Bytes], dialect: Dialect) -> Result<(), Unmodelled> {
    let lower = |word: &Bytes| String::from_utf8_lossy(word).to_lowercase();
    let name = argv.first().map(lower).unwrap_or_default();
    let known = commands().iter().find(|command| command.name() == name);
    if let Some(elsewhere) = known.filter(|command| !command.exists_in(dialect))
        && may_send(elsewhere, Dialect::Valkey9)
    {
        let name = name.to_uppercase();
        return Err(Unmodelled::Lacks(format!(
            "sends the command {name}, which only Valkey has; if the lock is for Valkey, say \
             `server = \"valkey\"`"
        )));
    }
    if !known.is_some_and(|command| may_send(command, dialect)) {
        if let Some(why) = elsewhere::nowhere(&name) {
            return Err(Unmodelled::Nowhere(format!("sends {why}")));
        }
        let name = name.to_uppercase();
        return Err(Unmodelled::Lacks(format!(
            "sends the command {name}, which is not in the model yet"
        )));
    }
    let asked = argv.get(1).map(lower).unwrap_or_default();
    if name == "script" && argv.len() > 1 && !SCRIPT.contains(&&*asked) {
        let asked = asked.to_uppercase();
        let what = format!("sends SCRIPT {asked}, which is not in the model");
        return Err(Unmodelled::Lacks(what));
    }
    Ok(())
}

/// A lock file may send this command to servers that speak so.
pub fn may_send(command: &Command, dialect: Dialect) -> bool {
    command.exists_in(dialect) && !PARTS.contains(&command.name())
}
