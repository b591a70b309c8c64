//! Mutual exclusion and fences, by trying every reading.

use super::{History, NEVER, Op, Step, try_all, verdict, worst};
use lockproof_history::FindingVerdict;

/// A hold: whose, of which key, from and to.
#[derive(Clone, Debug)]
struct Hold {
    client: u64,
    key: Option<String>,
    from: u64,
    to: u64,
    acquire: usize,
}

/// What is open about one client's operations, by their place among all.
fn questions(history: &History) -> Vec<usize> {
    let open = |op: &Op| match op.f.as_str() {
        "acquire" => op.kind == "info" || (op.kind == "ok" && op.told_lost),
        // Is the next release a repetition of this one?
        "release" => history.reentrant() && op.kind != "ok",
        _ => false,
    };
    (0..history.ops.len())
        .filter(|at| open(&history.ops[*at]))
        .filter(|at| history.ops[*at].client.is_some())
        .collect()
}

/// All holds, if the questions have these answers; a validity is counted from the
/// acquire's call, or from its success.
fn holds(
    history: &History,
    questions: &[usize],
    answers: &[bool],
    validity_from: Option<bool>,
) -> Vec<Hold> {
    let answer = |op: usize| {
        let place = questions.iter().position(|other| *other == op);
        place.is_some_and(|place| answers[place])
    };
    let mut all = Vec::new();
    for (client, steps) in &history.clients {
        let mut own: Vec<Hold> = Vec::new();
        // What releases have to end, the last one first: a hold, or nothing for one
        // that is called again.
        let mut stack: Vec<(Option<String>, Option<usize>)> = Vec::new();
        for (time, step) in steps {
            match step {
                Step::Invoked(op) if history.ops[*op].f == "acquire" && !history.reentrant() => {
                    let key = &history.ops[*op].key;
                    for hold in own.iter_mut().filter(|hold| hold.key == *key) {
                        if history.ops[hold.acquire].kind == "info" {
                            hold.to = hold.to.min(*time);
                        }
                    }
                }
                Step::Invoked(op) if history.ops[*op].f == "release" => {
                    let key = &history.ops[*op].key;
                    let of_key = |entry: &(Option<String>, Option<usize>)| entry.0 == *key;
                    if !history.reentrant() {
                        for (_, hold) in stack.extract_if(.., |entry| of_key(entry)) {
                            end(&mut own, hold, *time);
                        }
                    } else if let Some(last) = stack.iter().rposition(of_key) {
                        let (_, hold) = stack.remove(last);
                        end(&mut own, hold, *time);
                    }
                }
                // It is still to be released, and is no hold any longer.
                Step::Ended(op) if history.ops[*op].f == "release" && answer(*op) => {
                    stack.push((history.ops[*op].key.clone(), None));
                }
                Step::Ended(at) if history.ops[*at].f == "acquire" => {
                    let op = &history.ops[*at];
                    let granted = match op.kind.as_str() {
                        "ok" => !op.told_lost || answer(*at),
                        "info" => answer(*at),
                        _ => false,
                    };
                    if granted {
                        stack.push((op.key.clone(), Some(own.len())));
                        own.push(Hold {
                            client: *client,
                            key: op.key.clone(),
                            from: if op.kind == "ok" { *time } else { op.invoked },
                            to: NEVER,
                            acquire: *at,
                        });
                    }
                }
                Step::Lost(key) => {
                    let gone = |other: &Option<String>| key.as_ref().is_none_or(|key| key == other);
                    for hold in own.iter_mut().filter(|hold| gone(&hold.key)) {
                        hold.to = hold.to.min(*time);
                    }
                    stack.retain(|(key, _)| !gone(key));
                }
                Step::Died => {
                    own.iter_mut().for_each(|hold| hold.to = hold.to.min(*time));
                    stack.clear();
                }
                _ => {}
            }
        }
        all.extend(
            own.into_iter()
                .filter_map(|hold| valid(history, hold, validity_from)),
        );
    }
    all
}

fn end(own: &mut [Hold], hold: Option<usize>, time: u64) {
    if let Some(hold) = hold {
        own[hold].to = own[hold].to.min(time);
    }
}

/// The hold within its validity, if there is any left of it.
fn valid(history: &History, mut hold: Hold, from_success: Option<bool>) -> Option<Hold> {
    let op = &history.ops[hold.acquire];
    let ms = op.said["validity_ms"].as_f64().filter(|_| op.kind == "ok");
    if let (Some(from_success), Some(ms)) = (from_success, ms) {
        let from = if from_success { op.ended } else { op.invoked };
        let until = from as i128 + (ms * 1e6).floor() as i128;
        if until <= i128::from(hold.from) {
            return None;
        }
        hold.to = hold.to.min(until as u64);
    }
    Some(hold)
}

/// Two clients held one key together: each began before the other was over.
fn meet(one: &Hold, other: &Hold) -> bool {
    one.client != other.client && one.key == other.key && one.from < other.to && other.from < one.to
}

fn broken(holds: &[Hold]) -> bool {
    let mut pairs = (0..holds.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
    pairs.any(|(one, other)| meet(&holds[one], &holds[other]))
}

pub fn exclusion(history: &History, by_validity: bool) -> Option<FindingVerdict> {
    let questions = questions(history);
    if history
        .all("acquire")
        .all(|op| op.kind == "fail" || op.client.is_none())
    {
        return Some(FindingVerdict::NotApplicable);
    }
    // A validity that began earlier is over earlier.
    let judged = |from_success: bool| {
        try_all(questions.len(), |answers| {
            let validity = by_validity.then_some(from_success);
            broken(&holds(history, &questions, answers, validity))
        })
    };
    let (short, long) = (judged(false)?, judged(true)?);
    let every = short == FindingVerdict::Violated;
    Some(verdict(long != FindingVerdict::NotObserved, every))
}

/// How many acquires succeeded while another client surely held.
pub fn exclusion_count(history: &History, by_validity: bool) -> Option<u64> {
    let questions = questions(history);
    if questions.len() > 12 {
        return None;
    }
    // What surely was, was so if nothing took effect that may not have.
    let surely = (0..1u32 << questions.len()).map(|reading| {
        let answers: Vec<bool> = (0..questions.len())
            .map(|at| reading & (1 << at) != 0)
            .collect();
        let holds = holds(history, &questions, &answers, by_validity.then_some(false));
        let late = |hold: &&Hold| {
            let before = |other: &&Hold| {
                (other.from, other.client) < (hold.from, hold.client) && meet(hold, other)
            };
            history.ops[hold.acquire].kind == "ok" && holds.iter().any(|other| before(&other))
        };
        let late: std::collections::BTreeSet<usize> =
            holds.iter().filter(late).map(|hold| hold.acquire).collect();
        late
    });
    let in_all = surely.reduce(|one, other| one.intersection(&other).copied().collect());
    Some(in_all.unwrap_or_default().len() as u64)
}

/// A client that died and came back may not go on with an earlier fence of its own
/// either: nothing of that is in the page, so a client is its number.
pub fn fences(history: &History) -> Option<FindingVerdict> {
    let fence = |op: &Op| op.said["fence"].as_i64().filter(|_| op.kind == "ok");
    let acquires: Vec<&Op> = history
        .all("acquire")
        .filter(|op| op.client.is_some())
        .collect();
    let open: Vec<usize> = (0..acquires.len())
        .filter(|at| acquires[*at].kind == "info")
        .collect();
    let fenced = (0..acquires.len()).filter(|at| fence(acquires[*at]).is_some());
    let wrong = |at: usize, answers: &[bool]| {
        let granted = |at: usize| match acquires[at].kind.as_str() {
            "ok" => true,
            "info" => answers[open.iter().position(|other| *other == at).unwrap()],
            _ => false,
        };
        let op = acquires[at];
        let mine = fence(op);
        let same_key = |other: &usize| acquires[*other].key == op.key && *other != at;
        let others = || (0..acquires.len()).filter(same_key);
        let of_others = || others().filter(|other| acquires[*other].client != op.client);
        // A client's operations are listed in its own order.
        let own = || others().filter(|other| acquires[*other].client == op.client && *other < at);
        let falls = of_others()
            .any(|other| acquires[other].ended < op.invoked && fence(acquires[other]) >= mine);
        let shared = of_others().any(|other| fence(acquires[other]) == mine);
        let own_above = own().any(|other| fence(acquires[other]) > mine);
        let last_own = own().rfind(|other| fence(acquires[*other]).is_some());
        let had_it = own().any(|other| fence(acquires[other]) == mine);
        let again = last_own.filter(|last| fence(acquires[*last]) == mine);
        let changed = again.is_some_and(|last| {
            of_others().any(|other| {
                granted(other)
                    && acquires[other].invoked > acquires[last].ended
                    && acquires[other].ended < op.invoked
            })
        });
        falls || shared || own_above || changed || (had_it && again.is_none())
    };
    worst(fenced.map(|at| try_all(open.len(), |answers| wrong(at, answers))))
}
