//! Commands on sorted sets.

use super::call::{Answer, Call};
use super::lists::index_range;
use super::number::parse_i64;
use super::refusal::Refusal;
use super::scores::{Bound, reply_of};
use super::value::{Score, SortedSet};
use super::{Bytes, Reply, Server};

/// The options of ZADD.
#[derive(Default)]
struct AddOptions {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
    changed: bool,
    increment: bool,
}

impl AddOptions {
    /// Reads options up to the first word that is none; how many there were.
    fn parse(words: &[Bytes]) -> (Self, usize) {
        let mut options = Self::default();
        for (index, word) in words.iter().enumerate() {
            match word.to_ascii_lowercase().as_slice() {
                b"nx" => options.nx = true,
                b"xx" => options.xx = true,
                b"gt" => options.gt = true,
                b"lt" => options.lt = true,
                b"ch" => options.changed = true,
                b"incr" => options.increment = true,
                _ => return (options, index),
            }
        }
        (options, words.len())
    }

    fn check(&self, words: usize) -> Result<(), Refusal> {
        if words == 0 || !words.is_multiple_of(2) {
            return Err(Refusal::Syntax);
        }
        let clash = if self.nx && self.xx {
            "ERR XX and NX options at the same time are not compatible"
        } else if self.gt && self.lt || self.nx && (self.gt || self.lt) {
            "ERR GT, LT, and/or NX options at the same time are not compatible"
        } else if self.increment && words > 2 {
            "ERR INCR option supports a single increment-element pair"
        } else {
            return Ok(());
        };
        Err(Refusal::other(clash))
    }
}

/// What one score did.
#[derive(Clone, Copy)]
enum Added {
    New(Score),
    Changed(Score),
    Same(Score),
    Refused,
}

pub(super) fn zadd(server: &mut Server, call: &Call<'_>) -> Answer {
    let (options, skipped) = AddOptions::parse(&call.argv[2..]);
    add(server, call, &options, &call.argv[2 + skipped..])
}

pub(super) fn zincrby(server: &mut Server, call: &Call<'_>) -> Answer {
    let options = AddOptions {
        increment: true,
        ..AddOptions::default()
    };
    add(server, call, &options, &call.argv[2..])
}

fn add(server: &mut Server, call: &Call<'_>, options: &AddOptions, pairs: &[Bytes]) -> Answer {
    options.check(pairs.len())?;
    // All scores are read before any is stored.
    let mut scored = Vec::new();
    for pair in pairs.chunks_exact(2) {
        server.look_up(&pair[1]);
        let score = server.score(&pair[0]).ok_or(Refusal::NotAFloat)?;
        scored.push((score, &pair[1]));
    }
    let mut results = Vec::with_capacity(scored.len());
    for (score, member) in scored {
        let added = add_one(server, &call.argv[1], options, (member, score))?;
        if !matches!(added, Added::Refused) {
            server.note_write(&call.argv[1], Some(member), options.increment);
        }
        results.push(added);
    }
    let dialect = server.dialect();
    if options.increment {
        return Ok(match results.first() {
            Some(Added::New(score) | Added::Changed(score) | Added::Same(score)) => {
                reply_of(*score, dialect)
            }
            _ => Reply::Nil,
        });
    }
    let counted = results.iter().filter(|result| match result {
        Added::New(_) => true,
        Added::Changed(_) => options.changed,
        Added::Same(_) | Added::Refused => false,
    });
    Ok(Reply::Int(counted.count() as i64))
}

fn add_one(
    server: &mut Server,
    key: &Bytes,
    options: &AddOptions,
    (member, score): (&Bytes, Score),
) -> Result<Added, Refusal> {
    let old = server.get::<SortedSet>(key)?;
    let Some(old) = old.and_then(|set| set.score(member)) else {
        if options.xx {
            return Ok(Added::Refused);
        }
        put(server, key, member, score)?;
        return Ok(Added::New(score));
    };
    if options.nx {
        return Ok(Added::Refused);
    }
    let new = match options.increment {
        true => server.sum(old, score),
        false => score,
    };
    if matches!(new, Score::Number(new) if new.is_nan()) {
        return Err(Refusal::NotANumber);
    }
    if options.gt && server.below(new, old, true) || options.lt && server.below(old, new, true) {
        return Ok(Added::Refused);
    }
    // Whether it is the same is told, or asked, by nothing else.
    let asked = options.changed && !options.gt && !options.lt;
    match (old, new) {
        // A -0 does not replace a 0: they compare equal.
        (Score::Number(before), Score::Number(after)) if before == after => {
            return Ok(Added::Same(old));
        }
        (Score::Stamp(_), Score::Stamp(_)) if asked && server.is_same_score(old, new) => {
            put(server, key, member, new)?;
            return Ok(Added::Same(new));
        }
        _ => put(server, key, member, new)?,
    }
    Ok(Added::Changed(new))
}

fn put(server: &mut Server, key: &Bytes, member: &Bytes, score: Score) -> Result<(), Refusal> {
    server.edit(key, Some(SortedSet::default()), |set| {
        set.insert(member.clone(), score);
        Ok(())
    })?;
    Ok(())
}

pub(super) fn zrem(server: &mut Server, call: &Call<'_>) -> Answer {
    for member in &call.argv[2..] {
        server.look_up(member);
    }
    let removed = server.edit(&call.argv[1], None, |set: &mut SortedSet| {
        let removed = call.argv[2..].iter().filter(|m| set.remove(m).is_some());
        Ok(removed.count() as i64)
    })?;
    Ok(Reply::Int(removed.unwrap_or(0)))
}

pub(super) fn zscore(server: &mut Server, call: &Call<'_>) -> Answer {
    let dialect = server.dialect();
    let score = server
        .get::<SortedSet>(&call.argv[1])?
        .and_then(|set| set.score(&call.argv[2]));
    Ok(score.map_or(Reply::Nil, |score| reply_of(score, dialect)))
}

pub(super) fn zcard(server: &mut Server, call: &Call<'_>) -> Answer {
    let len = server
        .get::<SortedSet>(&call.argv[1])?
        .map_or(0, SortedSet::len);
    Ok(Reply::Int(len as i64))
}

/// With WITHSCORE (Redis 7.2 and later) an array of rank and score.
pub(super) fn zrank(server: &mut Server, call: &Call<'_>) -> Answer {
    let with_score = match &call.argv[3..] {
        [] => false,
        [option] if option.eq_ignore_ascii_case(b"withscore") => true,
        [_] => return Err(Refusal::Syntax),
        _ => return Err(Refusal::Arity(call.name.to_owned())),
    };
    let dialect = server.dialect();
    let members = members_of(server, &call.argv[1])?;
    // Only how the others lie to it is asked.
    let (own, others) = members
        .into_iter()
        .partition(|(member, _)| *member == call.argv[2]);
    let members = rank_among(server, own, others);
    let found = members
        .iter()
        .enumerate()
        .find(|(_, (member, _))| *member == call.argv[2])
        .map(|(rank, (_, score))| (rank as i64, *score));
    Ok(match found {
        None => Reply::Nil,
        Some((rank, _)) if !with_score => Reply::Int(rank),
        Some((rank, score)) => Reply::Array(vec![Reply::Int(rank), reply_of(score, dialect)]),
    })
}

/// The options of ZRANGE and ZRANGEBYSCORE.
#[derive(Default)]
struct RangeOptions {
    by_score: bool,
    reverse: bool,
    with_scores: bool,
    /// Offset and count; a negative count is no limit.
    limit: Option<(i64, i64)>,
}

impl RangeOptions {
    fn parse(words: &[Bytes], by_score: bool) -> Result<Self, Refusal> {
        let fixed = by_score;
        let mut options = Self {
            by_score,
            ..Self::default()
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.to_ascii_lowercase().as_slice() {
                b"withscores" => options.with_scores = true,
                b"limit" => {
                    let mut number = || {
                        let word = words.next().ok_or(Refusal::Syntax)?;
                        Ok(parse_i64(word))
                    };
                    let (offset, count) = (number()?, number()?);
                    let offset = offset.ok_or(Refusal::NotAnInteger)?;
                    let count = count.ok_or(Refusal::NotAnInteger)?;
                    options.limit = Some((offset, count));
                }
                b"rev" if !fixed => options.reverse = true,
                b"byscore" if !fixed => options.by_score = true,
                b"bylex" if !fixed => {
                    return Err(Refusal::Lacks("ZRANGE with BYLEX"));
                }
                _ => return Err(Refusal::Syntax),
            }
        }
        if options.limit.is_some() && !options.by_score {
            return Err(Refusal::other(
                "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or \
                 BYLEX",
            ));
        }
        Ok(options)
    }
}

pub(super) fn zrange(server: &mut Server, call: &Call<'_>) -> Answer {
    let options = RangeOptions::parse(&call.argv[4..], false)?;
    range(server, call, &options)
}

pub(super) fn zrangebyscore(server: &mut Server, call: &Call<'_>) -> Answer {
    let options = RangeOptions::parse(&call.argv[4..], true)?;
    range(server, call, &options)
}

fn range(server: &mut Server, call: &Call<'_>, options: &RangeOptions) -> Answer {
    let (first, last) = (&call.argv[2], &call.argv[3]);
    let members = if options.by_score {
        // With REV the higher bound comes first.
        let (low, high) = if options.reverse {
            (last, first)
        } else {
            (first, last)
        };
        let (low, high) = bounds(server, low, high)?;
        let mut members = members_of(server, &call.argv[1])?;
        members.retain(|(_, score)| within(server, low, high, *score));
        limited(ranked(server, members, options), options.limit)
    } else {
        let start = server.integer(first).ok_or(Refusal::NotAnInteger)?;
        let stop = server.integer(last).ok_or(Refusal::NotAnInteger)?;
        let members = members_of(server, &call.argv[1])?;
        let members = ranked(server, members, options);
        let range = index_range(start, stop, members.len());
        members[range].to_vec()
    };
    let dialect = server.dialect();
    let words = members.into_iter().flat_map(|(member, score)| {
        let score = options.with_scores.then(|| reply_of(score, dialect));
        [Some(Reply::Bulk(member.clone())), score]
    });
    Ok(Reply::Array(words.flatten().collect()))
}

pub(super) fn zcount(server: &mut Server, call: &Call<'_>) -> Answer {
    let found = by_score(server, call)?;
    Ok(Reply::Int(found.len() as i64))
}

pub(super) fn zremrangebyscore(server: &mut Server, call: &Call<'_>) -> Answer {
    let gone = by_score(server, call)?;
    remove(server, &call.argv[1], &gone)?;
    Ok(Reply::Int(gone.len() as i64))
}

pub(super) fn zremrangebyrank(server: &mut Server, call: &Call<'_>) -> Answer {
    let start = server.integer(&call.argv[2]).ok_or(Refusal::NotAnInteger)?;
    let stop = server.integer(&call.argv[3]).ok_or(Refusal::NotAnInteger)?;
    let members = members_of(server, &call.argv[1])?;
    let members = ranked(server, members, &RangeOptions::default());
    let range = index_range(start, stop, members.len());
    let gone: Vec<Bytes> = members[range].iter().map(|(m, _)| m.clone()).collect();
    remove(server, &call.argv[1], &gone)?;
    Ok(Reply::Int(gone.len() as i64))
}

pub(super) fn zpopmin(server: &mut Server, call: &Call<'_>) -> Answer {
    pop(server, call, false)
}

pub(super) fn zpopmax(server: &mut Server, call: &Call<'_>) -> Answer {
    pop(server, call, true)
}

/// Members with their scores, in turn.
fn pop(server: &mut Server, call: &Call<'_>, reverse: bool) -> Answer {
    let count = match call.argv {
        [_, _] => 1,
        [_, _, count] => server
            .integer(count)
            .filter(|count| *count >= 0)
            .ok_or(Refusal::NotPositive)? as usize,
        _ => return Err(Refusal::Syntax),
    };
    let options = RangeOptions {
        reverse,
        ..RangeOptions::default()
    };
    let members = members_of(server, &call.argv[1])?;
    let mut members = ranked(server, members, &options);
    members.truncate(count);
    let gone: Vec<Bytes> = members.iter().map(|(member, _)| member.clone()).collect();
    remove(server, &call.argv[1], &gone)?;
    let dialect = server.dialect();
    let words = members
        .into_iter()
        .flat_map(|(member, score)| [Reply::Bulk(member), reply_of(score, dialect)]);
    Ok(Reply::Array(words.collect()))
}

fn remove(server: &mut Server, key: &Bytes, members: &[Bytes]) -> Result<(), Refusal> {
    server.edit(key, None, |set: &mut SortedSet| {
        for member in members {
            set.remove(member);
        }
        Ok(())
    })?;
    Ok(())
}

/// The members whose scores lie between two bounds, which stand behind the key.
fn by_score(server: &mut Server, call: &Call<'_>) -> Result<Vec<Bytes>, Refusal> {
    let (low, high) = bounds(server, &call.argv[2], &call.argv[3])?;
    let mut members = members_of(server, &call.argv[1])?;
    members.retain(|(_, score)| within(server, low, high, *score));
    Ok(members.into_iter().map(|(member, _)| member).collect())
}

fn within(server: &mut Server, low: Bound, high: Bound, score: Score) -> bool {
    low.admits_above(server, score) && high.admits_below(server, score)
}

fn bounds(server: &mut Server, low: &Bytes, high: &Bytes) -> Result<(Bound, Bound), Refusal> {
    Ok((server.bound(low)?, server.bound(high)?))
}

fn ranked(
    server: &mut Server,
    members: Vec<(Bytes, Score)>,
    options: &RangeOptions,
) -> Vec<(Bytes, Score)> {
    let mut members = server.rank(members);
    if options.reverse {
        members.reverse();
    }
    members
}

/// One member among the others: how those lie to each other does not matter.
fn rank_among(
    server: &mut Server,
    own: Vec<(Bytes, Score)>,
    others: Vec<(Bytes, Score)>,
) -> Vec<(Bytes, Score)> {
    let Some(own) = own.into_iter().next() else {
        return Vec::new();
    };
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for other in others {
        match server.comes_before(&other, &own) {
            true => before.push(other),
            false => after.push(other),
        }
    }
    before.push(own);
    before.append(&mut after);
    before
}

/// In the order of the states of a server.
fn members_of(server: &Server, key: &Bytes) -> Result<Vec<(Bytes, Score)>, Refusal> {
    let set = server.get::<SortedSet>(key)?;
    let ranked = set.map_or(Vec::new(), SortedSet::ranked);
    Ok(ranked
        .into_iter()
        .map(|(member, score)| (member.clone(), score))
        .collect())
}

fn limited<T>(items: Vec<T>, limit: Option<(i64, i64)>) -> Vec<T> {
    let Some((offset, count)) = limit else {
        return items;
    };
    let Ok(offset) = usize::try_from(offset) else {
        return Vec::new();
    };
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    items.into_iter().skip(offset).take(count).collect()
}
