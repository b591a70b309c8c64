//! Releases that say that they took effect, and what is left at the end, by
//! trying every reading.

use super::{History, NEVER, Op, Step, try_all, worst};
use lockproof_history::FindingVerdict;

type Key = Option<String>;

/// The operations whose outcome leaves something open.
fn open_ones(history: &History, is_open: impl Fn(&Op) -> bool) -> Vec<usize> {
    (0..history.ops.len())
        .filter(|at| history.ops[*at].client.is_some() && is_open(&history.ops[*at]))
        .collect()
}

fn answer(questions: &[usize], answers: &[bool], op: usize) -> bool {
    let place = questions.iter().position(|other| *other == op);
    place.is_some_and(|place| answers[place])
}

/// Which acquire each release is of, that says that it took effect; in this
/// reading.
fn released(history: &History, took: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for steps in history.clients.values() {
        let (mut stack, mut last): (Vec<usize>, Vec<usize>) = Default::default();
        let mut of = None;
        for (_, step) in steps {
            match step {
                Step::Ended(at) if history.ops[*at].f == "acquire" && took(*at) => {
                    let key = &history.ops[*at].key;
                    if !history.reentrant() {
                        stack.retain(|other| history.ops[*other].key != *key);
                    }
                    last.retain(|other| history.ops[*other].key != *key);
                    stack.push(*at);
                }
                Step::Invoked(at) if history.ops[*at].f == "release" => {
                    let key = &history.ops[*at].key;
                    let of_key = |other: &&usize| history.ops[**other].key == *key;
                    let top = stack.iter().rfind(of_key);
                    of = top.or(last.iter().rfind(of_key)).copied();
                }
                Step::Ended(at) if history.ops[*at].f == "release" => {
                    let op = &history.ops[*at];
                    if let Some(of) = of.take()
                        && op.kind == "ok"
                        && op.said["effect"] == true
                    {
                        found.push((*at, of));
                    }
                    let of_key = |other: &usize| history.ops[*other].key == op.key;
                    if history.reentrant()
                        && took(*at)
                        && let Some(top) = stack.iter().rposition(of_key)
                    {
                        last.retain(|other| !of_key(other));
                        last.push(stack.remove(top));
                    }
                }
                Step::Died => {
                    stack.clear();
                    last.clear();
                }
                _ => {}
            }
        }
    }
    found
}

pub fn honest(history: &History) -> Option<FindingVerdict> {
    let says = |op: &&Op| op.kind == "ok" && op.said["effect"] == true && op.client.is_some();
    let questions = open_ones(history, |op| {
        op.kind == "info" && ["acquire", "release"].contains(&op.f.as_str())
    });
    let lies = |which: usize, answers: &[bool], sure_only: bool| {
        let took = |at: usize| match history.ops[at].kind.as_str() {
            "ok" => true,
            "info" => answer(&questions, answers, at),
            _ => false,
        };
        let acquires = || (0..history.ops.len()).filter(|at| history.ops[*at].f == "acquire");
        let all = released(history, took);
        all.iter().filter(|(at, _)| *at == which).any(|(at, of)| {
            let (release, of) = (&history.ops[*at], &history.ops[*of]);
            let moves = |name: &str| {
                let words = ["failover", "split", "promot"];
                words.iter().any(|word| name.contains(word))
            };
            let nodes = history.header["nodes"].as_u64().unwrap();
            let mut moved = history.faults.iter();
            let moved = moved.any(|(time, name)| *time <= release.ended && moves(name));
            let gone = acquires().any(|at| {
                let other = &history.ops[at];
                took(at)
                    && other.client.is_some()
                    && other.client != of.client
                    && other.key == of.key
                    && other.invoked > of.ended
                    && other.ended < release.invoked
            });
            gone && !((nodes > 1 || moved) && sure_only)
        })
    };
    // Each release by itself: that one of two lies proves neither of them.
    let releases = (0..history.ops.len()).filter(|at| says(&&history.ops[*at]));
    worst(releases.map(|at| {
        let some = try_all(questions.len(), |answers| lies(at, answers, false))?;
        let every = try_all(questions.len(), |answers| lies(at, answers, true))?;
        let every = every == FindingVerdict::Violated;
        Some(super::verdict(some != FindingVerdict::NotObserved, every))
    }))
}

/// When a client held which key, both ends included, in this reading.
fn held(history: &History, took: impl Fn(usize) -> bool) -> Vec<(u64, Key, u64, u64)> {
    let mut all = Vec::new();
    for (client, steps) in &history.clients {
        // Key, since when, and is it in doubt, so that asking again ends it?
        let mut stack: Vec<(Key, u64, bool)> = Vec::new();
        let mut over = |key: &Key, from: u64, to: u64| all.push((*client, key.clone(), from, to));
        for (time, step) in steps {
            match step {
                Step::Invoked(at) if history.ops[*at].f == "acquire" && !history.reentrant() => {
                    let key = &history.ops[*at].key;
                    let doubtful = |hold: &mut (Key, u64, bool)| hold.0 == *key && hold.2;
                    for (key, from, _) in stack.extract_if(.., doubtful) {
                        over(&key, from, *time);
                    }
                }
                Step::Ended(at) if history.ops[*at].f == "acquire" && took(*at) => {
                    let op = &history.ops[*at];
                    stack.push((op.key.clone(), op.invoked, op.kind == "info"));
                }
                Step::Ended(at) if history.ops[*at].f == "release" => {
                    let key = &history.ops[*at].key;
                    let of_key = |hold: &(Key, u64, bool)| hold.0 == *key;
                    if !took(*at) {
                        stack
                            .iter_mut()
                            .filter(|hold| of_key(hold))
                            .for_each(|hold| hold.2 = true);
                    } else if history.reentrant() {
                        if let Some(top) = stack.iter().rposition(of_key) {
                            let (key, from, _) = stack.remove(top);
                            over(&key, from, *time);
                        }
                    } else {
                        for (key, from, _) in stack.extract_if(.., |hold| of_key(hold)) {
                            over(&key, from, *time);
                        }
                    }
                }
                Step::Lost(key) => {
                    let gone = |other: &Key| key.as_ref().is_none_or(|key| key == other);
                    for (key, from, _) in stack.extract_if(.., |hold| gone(&hold.0)) {
                        over(&key, from, *time);
                    }
                }
                Step::Died => stack
                    .drain(..)
                    .for_each(|(key, from, _)| over(&key, from, *time)),
                _ => {}
            }
        }
        for (key, from, _) in stack {
            over(&key, from, NEVER);
        }
    }
    all
}

/// Runs through the readings of who held.
fn in_readings(
    history: &History,
    violated: impl Fn(&[(u64, Key, u64, u64)]) -> bool,
) -> Option<FindingVerdict> {
    let questions = open_ones(history, |op| match op.f.as_str() {
        "acquire" => op.kind == "info" || (op.kind == "ok" && op.told_lost),
        // Is the lock gone after it?
        "release" => op.kind != "ok",
        _ => false,
    });
    try_all(questions.len(), |answers| {
        let took = |at: usize| match questions.contains(&at) {
            true => answer(&questions, answers, at),
            false => history.ops[at].kind == "ok",
        };
        violated(&held(history, took))
    })
}

pub fn deadlock(history: &History) -> Option<FindingVerdict> {
    worst(history.all("final-acquire").map(|tried| {
        Some(match tried.kind.as_str() {
            "ok" => FindingVerdict::NotObserved,
            "info" => FindingVerdict::Unknown,
            _ => {
                let nobody = in_readings(history, |held| {
                    !held.iter().any(|(_, key, from, to)| {
                        let meant = tried.key.is_none() || tried.key == *key;
                        meant && *from <= tried.ended && *to >= tried.invoked
                    })
                })?;
                match nobody {
                    FindingVerdict::Violated => FindingVerdict::Violated,
                    _ => FindingVerdict::Unknown,
                }
            }
        })
    }))
}

pub fn orphans(history: &History) -> Option<FindingVerdict> {
    let reads = history.all("final-keys").filter(|op| op.kind == "ok");
    worst(reads.map(|read| {
        let left = read.said["keys"].as_array().unwrap().iter();
        let after = read.said["after_ms"].as_f64();
        let lease_over =
            after.is_some_and(|after| after >= history.header["ttl_ms"].as_f64().unwrap());
        let late = left.filter(|left| left["pttl_ms"] == -1 || lease_over);
        worst(
            late.map(|left| orphan(history, read, left))
                .chain([Some(FindingVerdict::NotObserved)]),
        )
    }))
}

fn orphan(history: &History, read: &Op, left: &serde_json::Value) -> Option<FindingVerdict> {
    let name = left["key"].as_str().map(str::to_owned);
    // Named by an acquire that was called by then.
    let known = history
        .all("acquire")
        .any(|op| op.client.is_some() && op.key == name && op.invoked <= read.ended);
    let owner = left["owner"].as_u64();
    let found = in_readings(history, |held| {
        !held.iter().any(|(client, key, from, to)| {
            let meant = !known || key.is_none() || *key == name;
            let asked = owner.is_none_or(|owner| owner == *client);
            asked && meant && *from <= read.ended && *to >= read.invoked
        })
    })?;
    Some(match (owner, found) {
        // It may be whoever's holds, or nobody's.
        (None, FindingVerdict::NotObserved) => FindingVerdict::Unknown,
        (_, found) => found,
    })
}
