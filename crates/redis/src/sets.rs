//! Commands on sets.

use super::call::{Answer, Call};
use super::value::Set;
use super::{Bytes, Reply, Server};

pub(super) fn sadd(server: &mut Server, call: &Call<'_>) -> Answer {
    let members = &call.argv[2..];
    for member in members {
        server.look_up(member);
    }
    let added = server.edit(&call.argv[1], Some(Set::new()), |set| {
        let added = members.iter().filter(|m| set.insert((*m).clone()));
        Ok(added.cloned().collect::<Vec<Bytes>>())
    })?;
    let added = added.unwrap_or_default();
    for member in &added {
        server.wrote(&call.argv[1], Some(member));
    }
    Ok(Reply::Int(added.len() as i64))
}

pub(super) fn srem(server: &mut Server, call: &Call<'_>) -> Answer {
    for member in &call.argv[2..] {
        server.look_up(member);
    }
    let removed = server.edit(&call.argv[1], None, |set: &mut Set| {
        let removed = call.argv[2..].iter().filter(|m| set.remove(*m));
        Ok(removed.count() as i64)
    })?;
    Ok(Reply::Int(removed.unwrap_or(0)))
}

/// From one set to another; nothing happens if the member is not in the first.
pub(super) fn smove(server: &mut Server, call: &Call<'_>) -> Answer {
    let (from, to, member) = (&call.argv[1], &call.argv[2], &call.argv[3]);
    server.look_up(member);
    let Some(source) = server.get::<Set>(from)? else {
        return Ok(Reply::Int(0));
    };
    let there = source.contains(member);
    let known = server
        .get::<Set>(to)?
        .is_some_and(|set| set.contains(member));
    if !there || from == to {
        return Ok(Reply::Int(i64::from(there)));
    }
    server.edit(from, None, |set: &mut Set| Ok(set.remove(member)))?;
    server.edit(to, Some(Set::new()), |set| Ok(set.insert(member.clone())))?;
    if !known {
        server.wrote(to, Some(member));
    }
    Ok(Reply::Int(1))
}

pub(super) fn sismember(server: &mut Server, call: &Call<'_>) -> Answer {
    let found = contain(server, call)?;
    Ok(Reply::Int(found[0]))
}

pub(super) fn smismember(server: &mut Server, call: &Call<'_>) -> Answer {
    let found = contain(server, call)?;
    Ok(Reply::Array(found.into_iter().map(Reply::Int).collect()))
}

/// 1 for each member that is there, and 0 for each that is not.
fn contain(server: &mut Server, call: &Call<'_>) -> Result<Vec<i64>, super::refusal::Refusal> {
    for member in &call.argv[2..] {
        server.look_up(member);
    }
    let set = server.get::<Set>(&call.argv[1])?;
    let there = |member| set.is_some_and(|set| set.contains(member));
    let members = call.argv[2..].iter();
    Ok(members.map(|member| i64::from(there(member))).collect())
}

/// A real server promises no order: a model's tries all, and otherwise they are sorted.
pub(super) fn smembers(server: &mut Server, call: &Call<'_>) -> Answer {
    let set = server.get::<Set>(&call.argv[1])?;
    let all: Vec<Bytes> = set.map_or(Vec::new(), |set| set.iter().cloned().collect());
    let order = server.listed(all.len()).into_iter();
    Ok(Reply::Array(
        order.map(|at| Reply::Bulk(all[at].clone())).collect(),
    ))
}

pub(super) fn scard(server: &mut Server, call: &Call<'_>) -> Answer {
    let members = server.get::<Set>(&call.argv[1])?.map_or(0, Set::len);
    Ok(Reply::Int(members as i64))
}
