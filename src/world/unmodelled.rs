//! What a lock may not send, because the model would answer it wrongly.
//!
//! A server of the model answers a command that it does not have as Redis
//! answers one that does not exist: with an error. A lock that uses such a
//! command would be judged by that error, and a verdict about it would be worth
//! nothing. So every command line is examined before anything is closed over
//! it, and the lock is refused with the line that sends it.

use crate::redis::{Bytes, Dialect, Reply, commands};

use super::closure::{ClosureError, printable};

/// Commands that a single server of the model has, and a world has not: their
/// effect is on scripts, replicas or subscribers, which no keyspace holds.
const NOT_IN_A_WORLD: [&str; 4] = ["evalsha", "script", "subscribe", "unsubscribe"];

/// Examines a command line that the lock file sends from `line`; true if it can
/// see the server's clock.
///
/// # Errors
/// If the model would answer it wrongly.
pub fn examine(argv: &[Bytes], line: u32) -> Result<bool, ClosureError> {
    let lower = |word: &Bytes| String::from_utf8_lossy(word).to_lowercase();
    let words: Vec<String> = argv.iter().map(lower).collect();
    let name = words[0].as_str();
    if !in_a_world(name) {
        let what = format!("the command {}", name.to_uppercase());
        return Err(ClosureError::NotModelled { line, what });
    }
    // An EVAL without a text is refused by every server alike.
    let script = words.get(1).filter(|_| name == "eval");
    let script = script.map_or("", String::as_str);
    let called = called_by_script(script);
    // WAIT waits only as a command of its own.
    let strange = |name: &&&str| !in_a_world(name) || **name == "wait";
    if let Some(unknown) = called.iter().find(strange) {
        let what = format!("a command of its script, {},", unknown.to_uppercase());
        return Err(ClosureError::NotModelled { line, what });
    }
    // A script's options are texts in quotes somewhere in it; a plain command's
    // are words behind its key and value, which may be called as they like.
    let quoted = |option: &str| {
        script.contains(&format!("'{option}'")) || script.contains(&format!("\"{option}\""))
    };
    let option = |option: &str| {
        let behind = words.iter().skip(3).any(|word| word == option);
        quoted(option) || (name == "set" && behind)
    };
    let uses = |command: &str| name == command || called.contains(&command);
    if uses("time") || uses("expireat") || option("time") || option("expireat") || option("exat") {
        let command = printable(argv);
        return Err(ClosureError::ServerTime { line, command });
    }
    Ok(uses("pexpireat") || option("pexpireat") || option("pxat"))
}

/// Examines a reply to a command of that line: a script can make up the name of
/// a command while it runs.
///
/// # Errors
/// If the command was one that the model does not have.
pub fn examine_reply(reply: &Reply, line: u32) -> Result<(), ClosureError> {
    match reply {
        Reply::Error(text)
            if text.contains("command called from script") && text.contains("nknown") =>
        {
            let what = "a command of its script".into();
            Err(ClosureError::NotModelled { line, what })
        }
        _ => Ok(()),
    }
}

/// The servers of a world speak the default dialect.
fn in_a_world(name: &str) -> bool {
    let known = commands().iter().find(|command| command.name() == name);
    !NOT_IN_A_WORLD.contains(&name)
        && known.is_some_and(|command| command.exists_in(Dialect::default()))
}

/// The names that stand in quotes right behind `call` and `pcall`.
fn called_by_script(text: &str) -> Vec<&str> {
    let behind = text
        .match_indices("call")
        .map(|(at, word)| &text[at + word.len()..]);
    behind
        .filter_map(|rest| {
            let rest = rest.trim_start().trim_start_matches('(').trim_start();
            let quote = rest
                .chars()
                .next()
                .filter(|quote| matches!(quote, '\'' | '"'))?;
            let name = &rest[1..];
            let end = name.find(quote)?;
            // What does not end there is only the beginning of a name.
            let after = name[end + 1..].trim_start();
            (!after.starts_with("..")).then_some(&name[..end])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_every_way_to_write_a_call() {
        let text = "redis.call('get', k) redis.pcall ( \"set\", k) server.call'del' x.recall(k) call('a'..'b')";
        assert_eq!(called_by_script(text), ["get", "set", "del"]);
    }
}
