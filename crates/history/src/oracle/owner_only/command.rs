//! What a command can do to an entry, and what its reply proves that it did.

use crate::record::F;
use crate::reply::Reply;

/// What a command is about, seen from its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    /// It may make its client the owner.
    Claim,
    /// It may take the entry away.
    Remove,
    /// It may change when the entry ends.
    ChangeExpiry,
}

/// What a reply proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It made its client the owner.
    Claimed,
    /// It did, if its client's acquire succeeds.
    PerhapsClaimed,
    /// It removed the entry, or changed its expiry.
    Changed,
    /// It did nothing, or that it did something cannot be told.
    Nothing,
}

/// Commands that make no entry. What is in neither list may make one.
const HARMLESS: [&str; 25] = [
    "GET",
    "MGET",
    "STRLEN",
    "EXISTS",
    "TYPE",
    "TTL",
    "PTTL",
    "EXPIRETIME",
    "PEXPIRETIME",
    "HGET",
    "HMGET",
    "HGETALL",
    "HEXISTS",
    "HLEN",
    "HKEYS",
    "HVALS",
    "HDEL",
    "WAIT",
    "PING",
    "TIME",
    "PUBLISH",
    "SUBSCRIBE",
    "UNSUBSCRIBE",
    "DEL",
    "WATCH",
];

/// The key that a command is about and what it may do to it, sent by a client
/// that was doing this; `None` if it cannot matter.
pub(super) fn intent(argv: &[String], doing: Option<F>) -> Option<(&str, Intent)> {
    let (name, rest) = argv.split_first()?;
    let key = rest.first()?.as_str();
    let is = |names: &[&str]| names.iter().any(|other| name.eq_ignore_ascii_case(other));
    if is(&["MULTI"]) {
        let parts = commands(rest).into_iter();
        let intents = parts.filter_map(|command| intent(command, doing));
        return intents.min_by_key(|(_, intent)| *intent != Intent::Claim);
    }
    if is(&["EVAL", "EVALSHA", "FCALL"]) {
        let keys: usize = rest.get(1)?.parse().ok()?;
        let key = rest.get(2).filter(|_| keys > 0)?.as_str();
        return Some(match doing {
            Some(F::Release) => (key, Intent::Remove),
            _ => (key, Intent::Claim),
        });
    }
    // Of several keys it cannot be told which ones were there.
    if is(&["DEL", "UNLINK"]) && rest.len() == 1 || is(&["DELIFEQ", "GETDEL"]) {
        return Some((key, Intent::Remove));
    }
    if is(&["EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST"]) {
        return Some((key, Intent::ChangeExpiry));
    }
    let harmless = is(&HARMLESS) || is(&["UNLINK"]);
    (!harmless).then_some((key, Intent::Claim))
}

/// The commands of a transaction: each stands behind the number of its words.
fn commands(words: &[String]) -> Vec<&[String]> {
    let mut rest = words.get(1..).unwrap_or_default();
    let mut commands = Vec::new();
    while let Some((count, behind)) = rest.split_first() {
        let count = count.parse().unwrap_or(behind.len());
        let Some((command, behind)) = behind.split_at_checked(count) else {
            break;
        };
        commands.push(command);
        rest = behind;
    }
    commands
}

/// What the reply proves. An error in a script proves nothing: it may come after
/// half of the work.
pub(super) fn effect(argv: &[String], intent: Intent, reply: Option<&Reply>) -> Effect {
    let Some((name, rest)) = argv.split_first() else {
        return Effect::Nothing;
    };
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    let one = reply == Some(&Reply::Int(1));
    match intent {
        Intent::Claim if is("SETNX") && one => Effect::Claimed,
        Intent::Claim if is("SETNX") && reply == Some(&Reply::Int(0)) => Effect::Nothing,
        Intent::Claim if is("SET") => set(rest, reply),
        Intent::Claim
            if reply == Some(&Reply::Error) && !is("EVAL") && !is("EVALSHA") && !is("FCALL") =>
        {
            Effect::Nothing
        }
        Intent::Claim => Effect::PerhapsClaimed,
        // Which command of a transaction did what cannot be told.
        _ if is("MULTI") => Effect::Nothing,
        Intent::Remove if one || (is("GETDEL") && is_text(reply)) => Effect::Changed,
        Intent::ChangeExpiry if one => Effect::Changed,
        Intent::Remove | Intent::ChangeExpiry => Effect::Nothing,
    }
}

/// SET says OK if it wrote; with GET it says what was there before instead.
fn set(rest: &[String], reply: Option<&Reply>) -> Effect {
    let options = rest.get(2..).unwrap_or_default();
    let has = |name: &str| options.iter().any(|word| word.eq_ignore_ascii_case(name));
    match (is_ok(reply), reply == Some(&Reply::Error)) {
        (true, _) if has("NX") && !has("GET") => Effect::Claimed,
        (true, _) => Effect::PerhapsClaimed,
        (_, true) => Effect::Nothing,
        _ if has("GET") => Effect::PerhapsClaimed,
        _ => Effect::Nothing,
    }
}

fn is_ok(reply: Option<&Reply>) -> bool {
    matches!(reply, Some(Reply::Text(text)) if **text == *"OK")
}

/// Traces write `"nil"` for no text.
fn is_text(reply: Option<&Reply>) -> bool {
    matches!(reply, Some(Reply::Text(text)) if **text != *"nil")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_may_do_what_one_of_its_commands_may() {
        let argv = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (line, expected) in [
            (
                "MULTI plain 3 SETNX k a 3 PEXPIRE k 9",
                Some(("k", Intent::Claim)),
            ),
            ("MULTI watched 2 DEL k 2 GET k", Some(("k", Intent::Remove))),
            ("MULTI watched 2 GET k", None),
            ("MULTI watched 9 DEL k", None),
            ("WATCH k", None),
            ("UNWATCH", None),
        ] {
            let argv = argv(line);
            assert_eq!(intent(&argv, None), expected, "{line}");
            for intent in [Intent::Remove, Intent::ChangeExpiry] {
                let told = effect(&argv, intent, Some(&Reply::Int(1)));
                assert!(
                    told == Effect::Nothing || !line.starts_with("MULTI"),
                    "{line}"
                );
            }
        }
    }
}
