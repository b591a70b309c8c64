//! What a command can do to an entry, and what its reply proves that it did.

use serde_json::Value;

use crate::history::record::F;

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
const HARMLESS: [&str; 24] = [
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
];

/// The key that a command is about and what it may do to it, sent by a client
/// that was doing this; `None` if it cannot matter.
pub(super) fn intent(argv: &[String], doing: Option<F>) -> Option<(&str, Intent)> {
    let (name, rest) = argv.split_first()?;
    let key = rest.first()?.as_str();
    let is = |names: &[&str]| names.iter().any(|other| name.eq_ignore_ascii_case(other));
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

/// What the reply proves. An error in a script proves nothing: it may come after
/// half of the work.
pub(super) fn effect(argv: &[String], intent: Intent, reply: Option<&Value>) -> Effect {
    let Some((name, rest)) = argv.split_first() else {
        return Effect::Nothing;
    };
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    let one = whole(reply) == Some(1);
    match intent {
        Intent::Claim if is("SETNX") && one => Effect::Claimed,
        Intent::Claim if is("SETNX") && whole(reply) == Some(0) => Effect::Nothing,
        Intent::Claim if is("SET") => set(rest, reply),
        Intent::Claim if is_error(reply) && !is("EVAL") && !is("EVALSHA") && !is("FCALL") => {
            Effect::Nothing
        }
        Intent::Claim => Effect::PerhapsClaimed,
        Intent::Remove if one || (is("GETDEL") && text(reply).is_some()) => Effect::Changed,
        Intent::ChangeExpiry if one => Effect::Changed,
        Intent::Remove | Intent::ChangeExpiry => Effect::Nothing,
    }
}

/// SET says OK if it wrote; with GET it says what was there before instead.
fn set(rest: &[String], reply: Option<&Value>) -> Effect {
    let options = rest.get(2..).unwrap_or_default();
    let has = |name: &str| options.iter().any(|word| word.eq_ignore_ascii_case(name));
    match (is_ok(reply), is_error(reply)) {
        (true, _) if has("NX") && !has("GET") => Effect::Claimed,
        (true, _) => Effect::PerhapsClaimed,
        (_, true) => Effect::Nothing,
        _ if has("GET") => Effect::PerhapsClaimed,
        _ => Effect::Nothing,
    }
}

/// A reply that is a whole number: `1`, or `{"int": 1}` as traces write it.
fn whole(reply: Option<&Value>) -> Option<i64> {
    let reply = reply?;
    reply.as_i64().or_else(|| reply.get("int")?.as_i64())
}

/// `"OK"`, or `{"status": "OK"}` as traces write it.
fn is_ok(reply: Option<&Value>) -> bool {
    let status = |reply: &Value| reply.as_str() == Some("OK");
    reply.is_some_and(|reply| status(reply) || reply.get("status").is_some_and(status))
}

fn is_error(reply: Option<&Value>) -> bool {
    reply.is_some_and(|reply| reply.get("error").is_some())
}

/// A text that is there: `"t"`, or `{"bulk": "t"}`. Traces write `"nil"` for none.
fn text(reply: Option<&Value>) -> Option<&str> {
    let reply = reply?;
    let text = reply.as_str().or_else(|| reply.get("bulk")?.as_str())?;
    (text != "nil").then_some(text)
}
