//! Commands on strings: SET with all its options, GET, counters.

use lockproof_lua::RefusalKind;
use lockproof_lua::text::{DRAWN, Symbol, UNRANKED};

use super::call::{Answer, Call};
use super::operand::Amount;
use super::refusal::Refusal;
use super::server::{Dialect, Expiry};
use super::value::Value;
use super::{Bytes, Reply, Server};

fn ok() -> Reply {
    Reply::Status("OK".to_owned())
}

fn bulk_or_nil(value: Option<&Bytes>) -> Reply {
    value.map_or(Reply::Nil, |value| Reply::Bulk(value.clone()))
}

/// What a SET does beside setting.
#[derive(Default)]
struct SetOptions {
    nx: bool,
    xx: bool,
    get: bool,
    keep_ttl: bool,
    /// IFEQ: set only if the value is this one.
    compare: Option<Bytes>,
    /// The word, its unit in ms, whether it counts from now, the argument.
    expiry: Option<(u8, i64, bool, Bytes)>,
}

impl SetOptions {
    /// A repeated option is fine, its last argument counts; contradictory ones
    /// are a syntax error. So Redis, though its manual says neither.
    fn parse(words: &[Bytes], dialect: Dialect) -> Result<Self, Refusal> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let clash = match word.to_ascii_lowercase().as_slice() {
                b"nx" => {
                    options.nx = true;
                    options.xx || options.compare.is_some()
                }
                b"xx" => {
                    options.xx = true;
                    options.nx || options.compare.is_some()
                }
                b"ifeq" if dialect == Dialect::Valkey9 => {
                    options.compare = Some(words.next().ok_or(Refusal::Syntax)?.clone());
                    options.nx || options.xx
                }
                b"get" => {
                    options.get = true;
                    false
                }
                b"keepttl" => {
                    options.keep_ttl = true;
                    options.expiry.is_some()
                }
                b"ex" => options.expire(1, 1000, true, words.next())?,
                b"px" => options.expire(2, 1, true, words.next())?,
                b"exat" => options.expire(3, 1000, false, words.next())?,
                b"pxat" => options.expire(4, 1, false, words.next())?,
                _ => true,
            };
            if clash {
                return Err(Refusal::Syntax);
            }
        }
        Ok(options)
    }

    /// Takes an expiry option; whether it clashes with an earlier one.
    fn expire(
        &mut self,
        word: u8,
        unit_ms: i64,
        relative: bool,
        argument: Option<&Bytes>,
    ) -> Result<bool, Refusal> {
        let argument = argument.ok_or(Refusal::Syntax)?.clone();
        let other = self.expiry.as_ref().is_some_and(|(old, ..)| *old != word);
        self.expiry = Some((word, unit_ms, relative, argument));
        Ok(other || self.keep_ttl)
    }
}

/// The end that a SET-like command asks for. Unlike EXPIRE, zero and negative
/// arguments are refused.
fn end_of(
    server: &mut Server,
    argument: &Bytes,
    unit_ms: i64,
    relative: bool,
    command: &'static str,
) -> Result<Expiry, Refusal> {
    let amount = server.amount(argument, unit_ms, relative);
    let amount = amount.ok_or(Refusal::NotAnInteger)?;
    if matches!(amount, Amount::Ms(..=0)) {
        return Err(Refusal::ExpireTime(command));
    }
    let measured = !matches!(amount, Amount::Ms(_));
    let end = amount.end(server, unit_ms, relative, command)?;
    let over = measured && relative && end.at_ms <= server.now_ms();
    if end.at_ms <= 0 || over {
        return Err(Refusal::ExpireTime(command));
    }
    server.note_life(end);
    Ok(end)
}

pub(super) fn set(server: &mut Server, call: &Call<'_>) -> Answer {
    let (key, value) = (&call.argv[1], &call.argv[2]);
    let options = SetOptions::parse(&call.argv[3..], server.dialect());
    if options.is_err() {
        note_newer_options(server, &call.argv[3..]);
    }
    let options = options?;
    let mut when = None;
    if let Some((_, unit_ms, relative, argument)) = &options.expiry {
        when = Some(end_of(server, argument, *unit_ms, *relative, call.name)?);
    }
    let old = if options.get || options.compare.is_some() {
        server.get::<Bytes>(key)?.cloned()
    } else {
        None
    };
    let there = server.contains(key);
    let unequal = match (&options.compare, &old) {
        (Some(wanted), Some(old)) => !server.same_text(wanted, old),
        (wanted, _) => wanted.is_some(),
    };
    let refused = options.nx && there || options.xx && !there || unequal;
    if !refused {
        if options.keep_ttl {
            when = server.expiry(key).flatten();
        }
        // Valkey takes an end at this very ms for one that has passed.
        let now_ms = server.now_ms();
        let over =
            server.dialect() == Dialect::Valkey9 && when.is_some_and(|end| end.at_ms == now_ms);
        if over && !options.keep_ttl {
            server.remove(key);
        } else {
            server.insert(key.clone(), Value::String(value.clone()), when);
            server.wrote(key, None);
            if !options.keep_ttl {
                server.set_expiry(key, when);
            }
        }
    }
    Ok(match (options.get, refused) {
        (true, _) => bulk_or_nil(old.as_ref()),
        (false, true) => Reply::Nil,
        (false, false) => ok(),
    })
}

/// Options that Valkey 9, or Redis 8.4, has and this server has not: what it answers
/// (a syntax error) says nothing about those (Redis manual, SET; Valkey manual, SET).
fn note_newer_options(server: &mut Server, words: &[Bytes]) {
    const NEWER: [&[u8]; 4] = [b"ifeq", b"ifne", b"ifdeq", b"ifdne"];
    let newer = |word: &Bytes| NEWER.contains(&word.to_ascii_lowercase().as_slice());
    if server.scale().is_some() && words.iter().any(newer) {
        let what = "uses SET with IFEQ or its like, which only newer servers have; if the lock is \
                    for Valkey, say `server = \"valkey\"`";
        server.notes_mut().refuse(RefusalKind::Lacks, what);
    }
}

pub(super) fn setnx(server: &mut Server, call: &Call<'_>) -> Answer {
    let (key, value) = (&call.argv[1], &call.argv[2]);
    let free = !server.contains(key);
    if free {
        server.insert(key.clone(), Value::String(value.clone()), None);
        server.wrote(key, None);
    }
    Ok(Reply::Int(i64::from(free)))
}

pub(super) fn setex(server: &mut Server, call: &Call<'_>) -> Answer {
    set_with_expiry(server, call, 1000)
}

pub(super) fn psetex(server: &mut Server, call: &Call<'_>) -> Answer {
    set_with_expiry(server, call, 1)
}

fn set_with_expiry(server: &mut Server, call: &Call<'_>, unit_ms: i64) -> Answer {
    let end = end_of(server, &call.argv[2], unit_ms, true, call.name)?;
    let value = Value::String(call.argv[3].clone());
    server.insert(call.argv[1].clone(), value, Some(end));
    server.wrote(&call.argv[1], None);
    server.set_expiry(&call.argv[1], Some(end));
    Ok(ok())
}

pub(super) fn get(server: &mut Server, call: &Call<'_>) -> Answer {
    Ok(bulk_or_nil(server.get::<Bytes>(&call.argv[1])?))
}

/// A key of another type has no text: nil.
pub(super) fn mget(server: &mut Server, call: &Call<'_>) -> Answer {
    let text = |key| server.get::<Bytes>(key).ok().flatten();
    let texts = call.argv[1..].iter().map(|key| bulk_or_nil(text(key)));
    Ok(Reply::Array(texts.collect()))
}

pub(super) fn mset(server: &mut Server, call: &Call<'_>) -> Answer {
    set_all(server, call)?;
    Ok(ok())
}

/// All or none: where one key is there, nothing is set.
pub(super) fn msetnx(server: &mut Server, call: &Call<'_>) -> Answer {
    let mut keys = call.argv[1..].iter().step_by(2);
    if call.argv.len().is_multiple_of(2) {
        return Err(Refusal::Arity(call.name.to_owned()));
    }
    if keys.any(|key| server.contains(key)) {
        return Ok(Reply::Int(0));
    }
    set_all(server, call)?;
    Ok(Reply::Int(1))
}

fn set_all(server: &mut Server, call: &Call<'_>) -> Result<(), Refusal> {
    if call.argv.len().is_multiple_of(2) {
        return Err(Refusal::Arity(call.name.to_owned()));
    }
    for pair in call.argv[1..].chunks_exact(2) {
        server.insert(pair[0].clone(), Value::String(pair[1].clone()), None);
        server.wrote(&pair[0], None);
    }
    Ok(())
}

pub(super) fn getdel(server: &mut Server, call: &Call<'_>) -> Answer {
    let reply = get(server, call)?;
    server.remove(&call.argv[1]);
    Ok(reply)
}

/// GET that changes the end of the key's life. But on Valkey the key is looked up before
/// the new end is read, so a missing key hides a bad one.
pub(super) fn getex(server: &mut Server, call: &Call<'_>) -> Answer {
    let key = &call.argv[1];
    let (mut options, mut persist) = (SetOptions::default(), false);
    let mut words = call.argv[2..].iter();
    while let Some(word) = words.next() {
        let clash = match word.to_ascii_lowercase().as_slice() {
            b"ex" => options.expire(1, 1000, true, words.next())?,
            b"px" => options.expire(2, 1, true, words.next())?,
            b"exat" => options.expire(3, 1000, false, words.next())?,
            b"pxat" => options.expire(4, 1, false, words.next())?,
            b"persist" => {
                persist = true;
                false
            }
            _ => true,
        };
        if clash || persist && options.expiry.is_some() {
            return Err(Refusal::Syntax);
        }
    }
    let first = server.dialect() == Dialect::Valkey9;
    let read = |server: &mut Server| match &options.expiry {
        Some((_, unit_ms, relative, argument)) => {
            end_of(server, argument, *unit_ms, *relative, call.name)
                .map(|end| Some((end, *relative)))
        }
        None => Ok(None),
    };
    let early = if first { read(server)? } else { None };
    let Some(value) = server.get::<Bytes>(key)?.cloned() else {
        return Ok(Reply::Nil);
    };
    let end = if first { early } else { read(server)? };
    if let Some((end, relative)) = end {
        if !relative && end.at_ms <= server.now_ms() {
            server.remove(key);
        } else {
            server.set_expiry(key, Some(end));
        }
    } else if persist {
        server.set_expiry(key, None);
    }
    Ok(Reply::Bulk(value))
}

pub(super) fn getset(server: &mut Server, call: &Call<'_>) -> Answer {
    let reply = get(server, call)?;
    let value = Value::String(call.argv[2].clone());
    server.insert(call.argv[1].clone(), value, None);
    server.wrote(&call.argv[1], None);
    Ok(reply)
}

/// Valkey 9: deletes the key if it holds exactly this string.
pub(super) fn delifeq(server: &mut Server, call: &Call<'_>) -> Answer {
    let stored = server.get::<Bytes>(&call.argv[1])?.cloned();
    let equal = stored.is_some_and(|stored| server.same_text(&stored, &call.argv[2]));
    if equal {
        server.remove(&call.argv[1]);
    }
    Ok(Reply::Int(i64::from(equal)))
}

pub(super) fn incr(server: &mut Server, call: &Call<'_>) -> Answer {
    add(server, &call.argv[1], 1)
}

pub(super) fn decr(server: &mut Server, call: &Call<'_>) -> Answer {
    add(server, &call.argv[1], -1)
}

pub(super) fn incrby(server: &mut Server, call: &Call<'_>) -> Answer {
    let by = server.integer(&call.argv[2]).ok_or(Refusal::NotAnInteger)?;
    add(server, &call.argv[1], by)
}

pub(super) fn decrby(server: &mut Server, call: &Call<'_>) -> Answer {
    let by = server.integer(&call.argv[2]).ok_or(Refusal::NotAnInteger)?;
    let by = by.checked_neg().ok_or(Refusal::DecrementOverflow)?;
    add(server, &call.argv[1], by)
}

/// A missing key counts as 0; the expiry stays.
fn add(server: &mut Server, key: &Bytes, by: i64) -> Answer {
    let stored = server.get::<Bytes>(key)?;
    if by > 0
        && let Some(rank) = server.fence_before(key, stored)
    {
        return Ok(draw(server, key, rank, by));
    }
    let stored = server.get::<Bytes>(key)?.cloned();
    if let Some(least) = stored.as_ref().and_then(|text| server.many_moved(text, by)) {
        let when = server.expiry(key).flatten();
        let text = Value::String(Symbol::Many(least).text());
        server.insert(key.clone(), text, when);
        server.counted(key, None);
        return Ok(Reply::Bulk(Symbol::ManyCount(least).text()));
    }
    let old = match stored {
        None => 0,
        Some(text) => server.integer(&text).ok_or(Refusal::NotAnInteger)?,
    };
    let new = old.checked_add(by).ok_or(Refusal::Overflow)?;
    let when = server.expiry(key).flatten();
    let text = Value::String(new.to_string().into_bytes());
    server.insert(key.clone(), text, when);
    server.counted(key, None);
    Ok(Reply::Int(new))
}

/// The next fence, of a counter that is told by its rank; `None` if it is not there yet.
fn draw(server: &mut Server, key: &Bytes, rank: Option<u8>, by: i64) -> Reply {
    let next = match rank {
        None | Some(0) if by == 1 => DRAWN,
        Some(rank @ 1..DRAWN) if by == 1 => rank - 1,
        Some(DRAWN) => {
            server.refuse_fences();
            DRAWN
        }
        // It grows, and that is all that is known.
        _ => UNRANKED,
    };
    let when = server.expiry(key).flatten();
    let text = Value::String(Symbol::Fence(next).text());
    server.insert(key.clone(), text, when);
    server.counted(key, None);
    Reply::Bulk(Symbol::FenceCount(next).text())
}
