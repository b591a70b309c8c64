//! Commands on lists.

use super::call::{Answer, Call};
use super::refusal::Refusal;
use super::value::List;
use super::{Bytes, Reply, Score, Server};

fn integer(server: &mut Server, text: &Bytes) -> Result<i64, Refusal> {
    server.integer(text).ok_or(Refusal::NotAnInteger)
}

/// Turns Redis's inclusive, possibly negative bounds into a half-open range;
/// shared with sorted sets.
pub(super) fn index_range(start: i64, stop: i64, len: usize) -> std::ops::Range<usize> {
    let len = len as i64;
    let absolute = |index: i64| if index < 0 { index + len } else { index };
    let first = absolute(start).max(0);
    let last = absolute(stop).min(len - 1);
    if first > last {
        return 0..0;
    }
    first as usize..last as usize + 1
}

pub(super) fn lpush(server: &mut Server, call: &Call<'_>) -> Answer {
    push(server, call, List::push_front)
}

pub(super) fn rpush(server: &mut Server, call: &Call<'_>) -> Answer {
    push(server, call, List::push_back)
}

/// Only onto a list that is there.
pub(super) fn lpushx(server: &mut Server, call: &Call<'_>) -> Answer {
    push_onto(server, call, List::push_front)
}

pub(super) fn rpushx(server: &mut Server, call: &Call<'_>) -> Answer {
    push_onto(server, call, List::push_back)
}

fn push_onto(server: &mut Server, call: &Call<'_>, put: Put) -> Answer {
    match server.get::<List>(&call.argv[1])? {
        Some(_) => push(server, call, put),
        None => Ok(Reply::Int(0)),
    }
}

fn push(server: &mut Server, call: &Call<'_>, put: Put) -> Answer {
    let len = server.edit(&call.argv[1], Some(List::new()), |list| {
        for element in &call.argv[2..] {
            put(list, element.clone());
        }
        Ok(list.len() as i64)
    })?;
    for element in &call.argv[2..] {
        server.wrote(&call.argv[1], Some(element));
    }
    Ok(Reply::Int(len.unwrap_or(0)))
}

pub(super) fn lpop(server: &mut Server, call: &Call<'_>) -> Answer {
    pop(server, call, List::pop_front)
}

pub(super) fn rpop(server: &mut Server, call: &Call<'_>) -> Answer {
    pop(server, call, List::pop_back)
}

fn pop(server: &mut Server, call: &Call<'_>, take: fn(&mut List) -> Option<Bytes>) -> Answer {
    let count = match call.argv {
        [_, _] => None,
        [_, _, count] => Some(
            server
                .integer(count)
                .filter(|count| *count >= 0)
                .ok_or(Refusal::NotPositive)? as usize,
        ),
        _ => return Err(Refusal::Arity(call.name.to_owned())),
    };
    let popped = server.edit(&call.argv[1], None, |list: &mut List| {
        Ok(match count {
            None => take(list).map_or(Reply::Nil, Reply::Bulk),
            Some(count) => Reply::Array(
                std::iter::from_fn(|| take(list))
                    .take(count)
                    .map(Reply::Bulk)
                    .collect(),
            ),
        })
    })?;
    Ok(popped.unwrap_or(Reply::Nil))
}

/// BLPOP of a caller that does not wait: if all lists are empty, the answer is nil. So it is
/// inside a script. Who may wait does so if the answer is nil.
pub(super) fn blpop(server: &mut Server, call: &Call<'_>) -> Answer {
    let [_, keys @ .., timeout] = call.argv else {
        return Err(Refusal::Arity(call.name.to_owned()));
    };
    let Some(Score::Number(seconds)) = server.score(timeout) else {
        return Err(Refusal::other("ERR timeout is not a float or out of range"));
    };
    // Redis 7.0 says that so much is negative.
    if seconds * 1000.0 > i64::MAX as f64 {
        return Err(Refusal::other("ERR timeout is out of range"));
    }
    if seconds < 0.0 {
        return Err(Refusal::other("ERR timeout is negative"));
    }
    for key in keys {
        let popped = server.edit(key, None, |list: &mut List| Ok(list.pop_front()))?;
        if let Some(element) = popped.flatten() {
            let pair = [key.clone(), element].map(Reply::Bulk);
            return Ok(Reply::Array(pair.into()));
        }
    }
    Ok(Reply::Nil)
}

/// RPOPLPUSH: the last of one list becomes the first of the other, or of the same.
pub(super) fn rpoplpush(server: &mut Server, call: &Call<'_>) -> Answer {
    let (from, to) = (&call.argv[1], &call.argv[2]);
    carry(server, (from, List::pop_back), (to, List::push_front))
}

pub(super) fn lmove(server: &mut Server, call: &Call<'_>) -> Answer {
    let left = |word: &Bytes| match word.to_ascii_lowercase().as_slice() {
        b"left" => Ok(true),
        b"right" => Ok(false),
        _ => Err(Refusal::Syntax),
    };
    let take = match left(&call.argv[3])? {
        true => List::pop_front,
        false => List::pop_back,
    };
    let put = match left(&call.argv[4])? {
        true => List::push_front,
        false => List::push_back,
    };
    carry(server, (&call.argv[1], take), (&call.argv[2], put))
}

type Take = fn(&mut List) -> Option<Bytes>;
type Put = fn(&mut List, Bytes);

/// From one list to another; nothing happens if the first is not there.
fn carry(server: &mut Server, from: (&Bytes, Take), to: (&Bytes, Put)) -> Answer {
    if server.get::<List>(from.0)?.is_none() {
        return Ok(Reply::Nil);
    }
    server.get::<List>(to.0)?;
    let taken = server.edit(from.0, None, |list: &mut List| Ok(from.1(list)))?;
    let Some(item) = taken.flatten() else {
        return Ok(Reply::Nil);
    };
    server.edit(to.0, Some(List::new()), |list| {
        to.1(list, item.clone());
        Ok(())
    })?;
    server.wrote(to.0, Some(&item));
    Ok(Reply::Bulk(item))
}

/// What is outside of the range goes.
pub(super) fn ltrim(server: &mut Server, call: &Call<'_>) -> Answer {
    let start = integer(server, &call.argv[2])?;
    let stop = integer(server, &call.argv[3])?;
    let key = &call.argv[1];
    let trimmed = server.edit(key, None, |list: &mut List| {
        let range = index_range(start, stop, list.len());
        *list = list.range(range).cloned().collect();
        Ok(())
    })?;
    if trimmed.is_some() {
        server.touch(key);
    }
    Ok(Reply::Status("OK".to_owned()))
}

pub(super) fn lrange(server: &mut Server, call: &Call<'_>) -> Answer {
    let start = integer(server, &call.argv[2])?;
    let stop = integer(server, &call.argv[3])?;
    let Some(list) = server.get::<List>(&call.argv[1])? else {
        return Ok(Reply::Array(Vec::new()));
    };
    let range = list.range(index_range(start, stop, list.len()));
    Ok(Reply::Array(range.cloned().map(Reply::Bulk).collect()))
}

pub(super) fn llen(server: &mut Server, call: &Call<'_>) -> Answer {
    let len = server.get::<List>(&call.argv[1])?.map_or(0, List::len);
    Ok(Reply::Int(len as i64))
}

/// The key is looked up before the index is read, so a missing key hides a bad
/// index.
pub(super) fn lindex(server: &mut Server, call: &Call<'_>) -> Answer {
    if server.get::<List>(&call.argv[1])?.is_none() {
        return Ok(Reply::Nil);
    }
    let index = integer(server, &call.argv[2])?;
    let Some(list) = server.get::<List>(&call.argv[1])? else {
        return Ok(Reply::Nil);
    };
    let index = if index < 0 {
        index + list.len() as i64
    } else {
        index
    };
    let element = usize::try_from(index).ok().and_then(|i| list.get(i));
    Ok(element.map_or(Reply::Nil, |element| Reply::Bulk(element.clone())))
}

/// A positive count removes that many from the left, a negative one from the
/// right, zero all.
pub(super) fn lrem(server: &mut Server, call: &Call<'_>) -> Answer {
    let count = integer(server, &call.argv[2])?;
    let wanted = &call.argv[3];
    let list = server
        .get::<List>(&call.argv[1])?
        .cloned()
        .unwrap_or_default();
    let hits: Vec<usize> = (0..list.len())
        .filter(|i| server.same_text(&list[*i], wanted))
        .collect();
    let removed = server.edit(&call.argv[1], None, |list: &mut List| {
        let mut hits = hits;
        let limit = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        if count < 0 {
            hits.reverse();
        }
        if count != 0 {
            hits.truncate(limit);
        }
        hits.sort_unstable();
        for index in hits.iter().rev() {
            list.remove(*index);
        }
        Ok(hits.len() as i64)
    })?;
    Ok(Reply::Int(removed.unwrap_or(0)))
}
