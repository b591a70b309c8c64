//! What was done under the lock, by trying every reading.

use super::{History, Op, try_all, verdict};
use lockproof_history::FindingVerdict;
use std::collections::BTreeSet;

fn number(value: &serde_json::Value, name: &str) -> Option<i64> {
    value[name].as_i64()
}

/// A value that stands twice.
fn twice<T: Ord>(all: impl Iterator<Item = T>) -> bool {
    let mut seen = BTreeSet::new();
    let mut all = all;
    all.any(|one| !seen.insert(one))
}

fn open_ones(ops: &[&Op]) -> Vec<usize> {
    (0..ops.len())
        .filter(|at| ops[*at].kind == "info")
        .collect()
}

fn took(ops: &[&Op], open: &[usize], answers: &[bool], at: usize) -> bool {
    match ops[at].kind.as_str() {
        "ok" => true,
        "info" => answers[open.iter().position(|other| *other == at).unwrap()],
        _ => false,
    }
}

pub fn effect(history: &History) -> Option<FindingVerdict> {
    let writes: Vec<&Op> = history
        .all("write")
        .filter(|op| op.kind != "fail")
        .collect();
    if writes.is_empty() {
        return Some(FindingVerdict::NotApplicable);
    }
    let open = open_ones(&writes);
    let fence = |op: &Op| number(&op.asked, "fence");
    let plain = |op: &Op| fence(op).is_none();
    let in_effect = try_all(open.len(), |answers| {
        let took = |at: usize| took(&writes, &open, answers, at);
        let all = || (0..writes.len()).filter(|at| took(*at));
        let older = all().any(|at| {
            let newer = |other: usize| {
                writes[other].ended < writes[at].invoked && fence(writes[other]) > fence(writes[at])
            };
            !plain(writes[at]) && all().any(newer)
        });
        let plain = all().filter(|at| plain(writes[*at]));
        older || twice(plain.map(|at| number(&writes[at].asked, "wrote")))
    })?;
    // A final read is compared with what was acknowledged.
    let acknowledged = || writes.iter().filter(|op| plain(op) && op.kind == "ok");
    if acknowledged().count() == 0 {
        return Some(in_effect);
    }
    let Some(read) = history.last_read("final-counter") else {
        return Some(in_effect.min(FindingVerdict::Unknown));
    };
    let start = history.setup.get("counter").copied().unwrap_or_default();
    let gained = (number(&read.said, "value").unwrap() - start).max(0) as usize;
    let missing = |all: &dyn Fn(&Op) -> bool| {
        let written: Vec<i64> = acknowledged()
            .filter(|op| all(op))
            .map(|op| number(&op.asked, "wrote").unwrap())
            .collect();
        // Those that wrote what another wrote are told already.
        written.iter().collect::<BTreeSet<_>>().len() > gained
    };
    let before = missing(&|op| op.ended < read.invoked);
    let last = verdict(before || missing(&|_| true), before);
    Some(in_effect.min(last))
}

pub fn coupons(history: &History) -> Option<FindingVerdict> {
    let takes: Vec<&Op> = history.all("take").filter(|op| op.kind != "fail").collect();
    if takes.is_empty() {
        return Some(FindingVerdict::NotApplicable);
    }
    let open = open_ones(&takes);
    let acknowledged = || takes.iter().filter(|op| op.kind == "ok");
    let read = |op: &Op| number(&op.said, "read").unwrap();
    let stock = history.setup.get("coupons").copied();
    let last = history.last_read("final-coupons");
    let in_readings = try_all(open.len(), |answers| {
        let taken = (0..takes.len()).filter(|at| took(&takes, &open, answers, *at));
        let taken = taken.count() as i64;
        let missing = acknowledged().any(|op| read(op) <= 0);
        let twice = twice(acknowledged().map(|op| read(op)));
        let beyond = |stock: i64| {
            let before = |last: &Op| acknowledged().filter(|op| op.ended < last.invoked).count();
            let gone = |last: &Op| (stock - number(&last.said, "left").unwrap()).max(0);
            taken > stock
                || acknowledged().any(|op| read(op) > stock)
                || last.is_some_and(|last| before(last) as i64 > gone(last))
        };
        missing || twice || stock.is_some_and(beyond)
    })?;
    let unseen = match (stock, last) {
        (Some(stock), Some(last)) => {
            let gone = (stock - number(&last.said, "left").unwrap()).max(0);
            acknowledged().count() as i64 > gone
        }
        (Some(_), None) => acknowledged().count() > 0,
        (None, _) => false,
    };
    Some(match unseen {
        true => in_readings.min(FindingVerdict::Unknown),
        false => in_readings,
    })
}

pub fn lottery(history: &History) -> Option<FindingVerdict> {
    let draws: Vec<&Op> = history.all("draw").filter(|op| op.kind != "fail").collect();
    if draws.is_empty() {
        return Some(FindingVerdict::NotApplicable);
    }
    let open = open_ones(&draws);
    let winners = history.header["params"]["winners"].as_u64().unwrap_or(10);
    let wrong = |op: &&&Op| {
        let all = op.said["winners"].as_array().unwrap();
        let different: BTreeSet<String> = all.iter().map(|one| one.to_string()).collect();
        all.len() as u64 != winners || different.len() as u64 != winners
    };
    let acknowledged = || draws.iter().filter(|op| op.kind == "ok");
    try_all(open.len(), |answers| {
        let drawn = (0..draws.len()).filter(|at| took(&draws, &open, answers, *at));
        let rounds = drawn.map(|at| number(&draws[at].asked, "round").unwrap());
        twice(rounds) || acknowledged().any(|op| wrong(&op))
    })
}

pub fn lost_updates(history: &History) -> Option<FindingVerdict> {
    let acknowledged = || history.all("add").filter(|op| op.kind == "ok");
    if acknowledged().count() == 0 {
        return Some(FindingVerdict::NotApplicable);
    }
    let Some(read) = history.last_read("final-set") else {
        return Some(FindingVerdict::Unknown);
    };
    let there = read.said["elements"].as_array().unwrap();
    let missing = |op: &&Op| !there.contains(&op.asked["element"]);
    let surely = acknowledged()
        .filter(missing)
        .any(|op| op.ended < read.invoked);
    Some(verdict(acknowledged().any(|op| missing(&op)), surely))
}
