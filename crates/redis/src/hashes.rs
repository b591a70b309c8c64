//! Commands on hashes.

use lockproof_lua::text::Symbol;

use super::call::{Answer, Call};
use super::refusal::Refusal;
use super::value::Hash;
use super::{Bytes, Reply, Server};

pub(super) fn hset(server: &mut Server, call: &Call<'_>) -> Answer {
    let pairs = &call.argv[2..];
    if !pairs.len().is_multiple_of(2) {
        return Err(Refusal::Arity(call.name.to_owned()));
    }
    for pair in pairs.chunks_exact(2) {
        server.look_up(&pair[0]);
    }
    let added = server.edit(&call.argv[1], Some(Hash::new()), |hash| {
        let added = pairs
            .chunks_exact(2)
            .filter(|pair| hash.insert(pair[0].clone(), pair[1].clone()).is_none());
        Ok(added.count() as i64)
    })?;
    for pair in pairs.chunks_exact(2) {
        server.wrote(&call.argv[1], Some(&pair[0]));
    }
    Ok(Reply::Int(added.unwrap_or(0)))
}

/// HSET with the answer that it had before Redis 4.
pub(super) fn hmset(server: &mut Server, call: &Call<'_>) -> Answer {
    hset(server, call)?;
    Ok(Reply::Status("OK".to_owned()))
}

pub(super) fn hsetnx(server: &mut Server, call: &Call<'_>) -> Answer {
    let (field, value) = (&call.argv[2], &call.argv[3]);
    server.look_up(field);
    let free = server.edit(&call.argv[1], Some(Hash::new()), |hash| {
        let free = !hash.contains_key(field);
        if free {
            hash.insert(field.clone(), value.clone());
        }
        Ok(free)
    })?;
    if free == Some(true) {
        server.wrote(&call.argv[1], Some(field));
    }
    Ok(Reply::Int(i64::from(free == Some(true))))
}

pub(super) fn hget(server: &mut Server, call: &Call<'_>) -> Answer {
    server.look_up(&call.argv[2]);
    let value = server
        .get::<Hash>(&call.argv[1])?
        .and_then(|hash| hash.get(&call.argv[2]));
    Ok(value.map_or(Reply::Nil, |value| Reply::Bulk(value.clone())))
}

pub(super) fn hmget(server: &mut Server, call: &Call<'_>) -> Answer {
    for field in &call.argv[2..] {
        server.look_up(field);
    }
    let hash = server.get::<Hash>(&call.argv[1])?;
    let value = |field| hash.and_then(|hash| hash.get(field)).cloned();
    let values = call.argv[2..].iter().map(value);
    Ok(Reply::Array(
        values
            .map(|value| value.map_or(Reply::Nil, Reply::Bulk))
            .collect(),
    ))
}

pub(super) fn hdel(server: &mut Server, call: &Call<'_>) -> Answer {
    for field in &call.argv[2..] {
        server.look_up(field);
    }
    let removed = server.edit(&call.argv[1], None, |hash: &mut Hash| {
        let removed = call.argv[2..].iter().filter(|f| hash.remove(*f).is_some());
        Ok(removed.count() as i64)
    })?;
    Ok(Reply::Int(removed.unwrap_or(0)))
}

pub(super) fn hexists(server: &mut Server, call: &Call<'_>) -> Answer {
    server.look_up(&call.argv[2]);
    let found = server
        .get::<Hash>(&call.argv[1])?
        .is_some_and(|hash| hash.contains_key(&call.argv[2]));
    Ok(Reply::Int(i64::from(found)))
}

/// A missing field counts as 0. The argument is read before the key is looked
/// up, and a refused change leaves no empty hash behind.
pub(super) fn hincrby(server: &mut Server, call: &Call<'_>) -> Answer {
    let by = server.integer(&call.argv[3]).ok_or(Refusal::NotAnInteger)?;
    server.look_up(&call.argv[2]);
    let known = server.get::<Hash>(&call.argv[1])?;
    let stored = known.and_then(|hash| hash.get(&call.argv[2])).cloned();
    if let Some(least) = stored.as_ref().and_then(|text| server.many_moved(text, by)) {
        server.edit(&call.argv[1], Some(Hash::new()), |hash| {
            hash.insert(call.argv[2].clone(), Symbol::Many(least).text());
            Ok(())
        })?;
        server.counted(&call.argv[1], Some(&call.argv[2]));
        return Ok(Reply::Bulk(Symbol::ManyCount(least).text()));
    }
    let old = match stored {
        None => 0,
        Some(text) => server.integer(&text).ok_or(Refusal::HashNotAnInteger)?,
    };
    let new = server.edit(&call.argv[1], Some(Hash::new()), |hash| {
        let new = old.checked_add(by).ok_or(Refusal::Overflow)?;
        hash.insert(call.argv[2].clone(), new.to_string().into_bytes());
        Ok(new)
    })?;
    server.counted(&call.argv[1], Some(&call.argv[2]));
    Ok(Reply::Int(new.unwrap_or(0)))
}

/// Fields and values in turn. A real server promises no order: a model's tries
/// all, and otherwise they are ordered by field.
pub(super) fn hgetall(server: &mut Server, call: &Call<'_>) -> Answer {
    listing(server, &call.argv[1], |field, value| {
        vec![field.clone(), value.clone()]
    })
}

/// Ordered by field, like HGETALL.
pub(super) fn hkeys(server: &mut Server, call: &Call<'_>) -> Answer {
    listing(server, &call.argv[1], |field, _| vec![field.clone()])
}

/// Ordered by field, like HGETALL.
pub(super) fn hvals(server: &mut Server, call: &Call<'_>) -> Answer {
    listing(server, &call.argv[1], |_, value| vec![value.clone()])
}

fn listing(
    server: &mut Server,
    key: &[u8],
    words: impl Fn(&Bytes, &Bytes) -> Vec<Bytes>,
) -> Answer {
    let hash = server.get::<Hash>(key)?.cloned().unwrap_or_default();
    let all: Vec<(Bytes, Bytes)> = hash.into_iter().collect();
    let order = server.listed(all.len());
    let listed = order.into_iter().map(|index| &all[index]);
    Ok(Reply::Array(
        listed
            .flat_map(|(field, value)| words(field, value))
            .map(Reply::Bulk)
            .collect(),
    ))
}

pub(super) fn hlen(server: &mut Server, call: &Call<'_>) -> Answer {
    let fields = server.get::<Hash>(&call.argv[1])?.map_or(0, Hash::len);
    Ok(Reply::Int(fields as i64))
}
