//! A second judge, written from docs/history.md alone and as naively as it goes.
//!
//! It keeps the whole history in memory, writes down for each client what it did
//! in its own order, and then tries every reading of what nobody knows. It is far
//! too slow for a run and shares nothing with the judge but the format of the
//! file. Where the two differ, one of them is wrong, or the page is not clear.
//!
//! Not here: `owner-only-release` (see `owner_only`), and keys with U+FFFD.

pub mod finals;
pub mod holds;
pub mod random;
pub mod work;

use lockproof_history::FindingVerdict;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// After every history.
pub const NEVER: u64 = u64::MAX;

/// An operation with its end.
#[derive(Clone, Debug)]
pub struct Op {
    pub client: Option<u64>,
    pub f: String,
    pub invoked: u64,
    /// `NEVER` if the history was over before.
    pub ended: u64,
    /// `ok`, `fail` or `info`.
    pub kind: String,
    pub asked: Value,
    pub said: Value,
    /// The lock key: none is a key, too.
    pub key: Option<String>,
    /// Its client was told that its lock is gone while it was open.
    pub told_lost: bool,
    /// It was cut off by its client's death.
    pub cut: bool,
}

/// What happened to a client, one after the other.
#[derive(Clone, Debug)]
pub enum Step {
    Invoked(usize),
    Ended(usize),
    /// The lock of one key is gone, or of all.
    Lost(Option<Option<String>>),
    Died,
}

/// A whole history.
pub struct History {
    pub header: Value,
    pub ops: Vec<Op>,
    /// Each client's steps, with their times.
    pub clients: BTreeMap<u64, Vec<(u64, Step)>>,
    /// When faults began or ended, by name.
    pub faults: Vec<(u64, String)>,
    /// What the store held at the start.
    pub setup: BTreeMap<String, i64>,
}

/// A line of one process.
struct Line {
    time: u64,
    event: Value,
}

fn kind(event: &Value) -> &str {
    event["type"].as_str().unwrap()
}

/// Operations; everything else is only noted.
const DONE: [&str; 12] = [
    "acquire",
    "release",
    "read",
    "write",
    "take",
    "draw",
    "add",
    "final-set",
    "final-counter",
    "final-coupons",
    "final-keys",
    "final-acquire",
];

impl History {
    pub fn read(text: &str) -> History {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let header: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
        let mut all: Vec<Line> = lines
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|event| Line {
                time: event["time"].as_u64().unwrap(),
                event,
            })
            .collect();
        all.sort_by_key(|line| line.time);
        let mut history = History {
            header,
            ops: Vec::new(),
            clients: BTreeMap::new(),
            faults: Vec::new(),
            setup: BTreeMap::new(),
        };
        let process = |line: &Line| line.event["process"].as_u64();
        let mut numbers: BTreeSet<u64> = all.iter().filter_map(process).collect();
        numbers.extend(all.iter().filter_map(|line| death(&line.event)));
        for client in numbers {
            let of_client = |line: &&Line| process(line) == Some(client);
            let mut own: Vec<(u64, Option<&Value>)> = all
                .iter()
                .filter(of_client)
                .map(|line| (line.time, Some(&line.event)))
                .collect();
            let dies = |line: &&Line| death(&line.event) == Some(client);
            for line in all.iter().filter(dies) {
                insert_death(&mut own, line.time);
            }
            history.follow(Some(client), &own);
        }
        let harness: Vec<(u64, Option<&Value>)> = all
            .iter()
            .filter(|line| line.event["process"] == "harness")
            .map(|line| (line.time, Some(&line.event)))
            .collect();
        history.follow(None, &harness);
        for line in &all {
            let event = &line.event;
            if let Some(fault) = event["value"]["fault"].as_str() {
                history.faults.push((line.time, fault.to_owned()));
            }
        }
        history
    }

    /// Follows one process through all that it did.
    fn follow(&mut self, client: Option<u64>, own: &[(u64, Option<&Value>)]) {
        let mut open: Option<usize> = None;
        let mut last_key: Option<String> = None;
        let mut steps = Vec::new();
        for (time, event) in own {
            let Some(event) = event else {
                if let Some(op) = open.take() {
                    self.end(op, *time, "info", &Value::Null);
                    self.ops[op].cut = true;
                    steps.push((*time, Step::Ended(op)));
                }
                steps.push((*time, Step::Died));
                continue;
            };
            let (f, value) = (event["f"].as_str().unwrap(), &event["value"]);
            let key = value["key"].as_str().map(str::to_owned);
            match kind(event) {
                "invoke" => {
                    let key = match f {
                        "release" if key.is_none() => last_key.clone(),
                        _ => key,
                    };
                    if f == "acquire" {
                        last_key = key.clone();
                    }
                    let op = self.begin(client, f, *time, value, key);
                    steps.push((*time, Step::Invoked(op)));
                    open = Some(op);
                }
                "info" if f == "lost" => {
                    let key = key.map(Some);
                    if let Some(op) = open {
                        let op = &mut self.ops[op];
                        op.told_lost |= key.as_ref().is_none_or(|key| *key == op.key);
                    }
                    steps.push((*time, Step::Lost(key)));
                }
                "info" if f == "setup" => {
                    for (name, number) in value.as_object().unwrap() {
                        self.setup.insert(name.clone(), number.as_i64().unwrap());
                    }
                }
                kind if DONE.contains(&f) => {
                    let op = match open.take() {
                        Some(op) => op,
                        // What the harness reads needs no invocation.
                        None if client.is_none() => self.begin(client, f, *time, value, key),
                        // It came after its client's death.
                        None => continue,
                    };
                    self.end(op, *time, kind, value);
                    steps.push((*time, Step::Ended(op)));
                }
                _ => {}
            }
        }
        if let Some(client) = client {
            steps.extend(open.map(|op| (NEVER, Step::Ended(op))));
            self.clients.insert(client, steps);
        }
    }

    fn begin(
        &mut self,
        client: Option<u64>,
        f: &str,
        time: u64,
        value: &Value,
        key: Option<String>,
    ) -> usize {
        self.ops.push(Op {
            client,
            f: f.to_owned(),
            invoked: time,
            ended: NEVER,
            kind: "info".into(),
            asked: value.clone(),
            said: Value::Null,
            key,
            told_lost: false,
            cut: false,
        });
        self.ops.len() - 1
    }

    fn end(&mut self, op: usize, time: u64, kind: &str, value: &Value) {
        let op = &mut self.ops[op];
        (op.ended, op.kind, op.said) = (time, kind.to_owned(), value.clone());
    }

    pub fn reentrant(&self) -> bool {
        self.header["reentrant"] == true
    }

    /// All operations with this name.
    pub fn all<'a>(&'a self, f: &'a str) -> impl Iterator<Item = &'a Op> {
        self.ops.iter().filter(move |op| op.f == f)
    }

    /// The last of the reads with this name that succeeded.
    pub fn last_read<'a>(&'a self, f: &'a str) -> Option<&'a Op> {
        let read = self.all(f).filter(|op| op.kind == "ok");
        read.max_by_key(|op| op.ended)
    }
}

/// The client that a line declares dead.
fn death(event: &Value) -> Option<u64> {
    let dies = event["f"] == "crash" && event["value"]["phase"] != "end";
    event["value"]["client"].as_u64().filter(|_| dies)
}

/// The dead say nothing: a death comes after all that its client says at that
/// time, except that nobody begins something inside of an operation.
fn insert_death(own: &mut Vec<(u64, Option<&Value>)>, time: u64) {
    let mut open = false;
    for at in 0..own.len() {
        let (when, event) = own[at];
        let begins = event.is_some_and(|event| kind(event) == "invoke");
        if when > time || (when == time && begins && open) {
            own.insert(at, (time, None));
            return;
        }
        open = match event {
            Some(event) if begins || DONE.contains(&event["f"].as_str().unwrap()) => begins,
            Some(_) => open,
            None => false,
        };
    }
    own.push((time, None));
}

/// What is to be said when this is so in some reading, or in all.
pub fn verdict(some: bool, every: bool) -> FindingVerdict {
    match (some, every) {
        (_, true) => FindingVerdict::Violated,
        (true, _) => FindingVerdict::Unknown,
        _ => FindingVerdict::NotObserved,
    }
}

/// Tries all readings of so many open questions; `None` if there are too many.
pub fn try_all(questions: usize, violated: impl Fn(&[bool]) -> bool) -> Option<FindingVerdict> {
    if questions > 12 {
        return None;
    }
    let (mut some, mut every) = (false, true);
    for reading in 0u32..1 << questions {
        let answers: Vec<bool> = (0..questions).map(|at| reading & (1 << at) != 0).collect();
        let violated = violated(&answers);
        some |= violated;
        every &= violated;
    }
    Some(verdict(some, every))
}

/// The worst of what is said of several things; each by itself.
pub fn worst(all: impl Iterator<Item = Option<FindingVerdict>>) -> Option<FindingVerdict> {
    let all: Option<Vec<_>> = all.collect();
    all.map(|all| {
        all.into_iter()
            .min()
            .unwrap_or(FindingVerdict::NotApplicable)
    })
}

/// The verdicts of all oracles that are here; those for which there is too much
/// to try are left out.
pub fn judge(text: &str) -> BTreeMap<&'static str, FindingVerdict> {
    let history = History::read(text);
    let all = [
        ("mutual-exclusion-belief", holds::exclusion(&history, false)),
        (
            "mutual-exclusion-validity",
            holds::exclusion(&history, true),
        ),
        ("fence-monotonicity", holds::fences(&history)),
        ("honest-outcome", finals::honest(&history)),
        ("no-orphan", finals::orphans(&history)),
        ("deadlock-freedom", finals::deadlock(&history)),
        ("mutual-exclusion-effect", work::effect(&history)),
        ("coupons", work::coupons(&history)),
        ("lottery", work::lottery(&history)),
        ("lost-updates", work::lost_updates(&history)),
    ];
    let known = all.into_iter();
    known
        .filter_map(|(oracle, verdict)| Some((oracle, verdict?)))
        .collect()
}
