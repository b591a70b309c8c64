//! What a check came upon, to warn of a `holds` that says little.
//!
//! A lock whose acquire never succeeds violates hardly anything; nor does a branch
//! that no run takes. So a check notes which operations succeeded, which scripts ran
//! and which lines of the file were reached, under any of its assumption sets.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lockproof_lua::Lines;

use crate::lock::{LockFile, Op};
use crate::world::World;

use super::{cluster, units};

/// What the searches of one check came upon.
pub(super) struct Seen {
    /// Lines of the lock file, in any automaton that was built.
    pub lines: Lines,
    succeeded: BTreeSet<Op>,
    scripts: BTreeSet<String>,
    /// Lines that send what no cluster takes, with two of the keys.
    cross_slot: BTreeSet<(u32, (String, String))>,
    /// Lines that send an expiry in the wrong unit, and what is wrong with it.
    mistaken: BTreeSet<(u32, String)>,
    /// Some search saw everything.
    complete: bool,
}

impl Seen {
    pub fn new(file: &LockFile) -> Seen {
        let lines = file.text.lines().count() + 2;
        Seen {
            lines: (0..lines)
                .map(|_| AtomicBool::new(false))
                .collect::<Arc<[_]>>(),
            succeeded: BTreeSet::new(),
            scripts: BTreeSet::new(),
            cross_slot: BTreeSet::new(),
            mistaken: BTreeSet::new(),
            complete: false,
        }
    }

    /// Notes what a search came upon.
    pub fn note(&mut self, world: &World, complete: bool) {
        let reached = &world.reached;
        self.complete |= complete;
        self.succeeded.extend(reached.succeeded());
        let closure = &world.tables.closure;
        let scripts = reached.commands().filter_map(|id| closure.script_of(id));
        self.scripts.extend(scripts.map(str::to_owned));
        let families: BTreeSet<u16> = reached
            .commands()
            .map(|id| closure.family_of_command(id))
            .collect();
        for family in families {
            let argv = closure.families.get(family);
            let keys = cluster::cross_slot(argv);
            let line = closure.line_of_family(family);
            let wrong = units::mistaken(argv, closure.needs.ttl_ms);
            self.mistaken.extend(wrong.map(|wrong| (line, wrong)));
            self.cross_slot.extend(keys.map(|keys| (line, keys)));
        }
    }

    /// What a user should know before trusting a verdict.
    pub fn warnings(&self, file: &LockFile) -> Vec<String> {
        let mut warnings = limits(file);
        warnings.extend(self.mistaken(file));
        warnings.extend(self.cross_slot(file));
        if !self.complete {
            return warnings;
        }
        let failed = |op: &&Op| !self.succeeded.contains(op);
        let mut operations = file.operations().to_vec();
        operations.sort();
        for op in operations.iter().filter(failed) {
            warnings.push(never_succeeded(*op));
        }
        for name in file.scripts.keys() {
            if !self.scripts.contains(name) {
                warnings.push(format!("the script `{name}` never ran"));
            }
        }
        warnings.extend(self.unreached(file));
        warnings
    }

    /// Expiries in the wrong unit.
    pub fn mistaken<'s>(&'s self, file: &'s LockFile) -> impl Iterator<Item = String> + 's {
        let found = self.mistaken.iter();
        found.map(move |(line, wrong)| format!("{}:{line}: {wrong}", file.path))
    }

    /// What a Redis Cluster refuses of it.
    pub fn cross_slot<'s>(&'s self, file: &'s LockFile) -> impl Iterator<Item = String> + 's {
        let place = |line: &u32| format!("{}:{line}", file.path);
        let found = self.cross_slot.iter();
        found.map(move |(line, keys)| cluster::warning(&place(line), keys))
    }

    fn unreached(&self, file: &LockFile) -> Option<String> {
        let reached = |line: &u32| {
            let flag = self.lines.get(*line as usize);
            flag.is_none_or(|flag| flag.load(Ordering::Relaxed))
        };
        let lines = file.function_lines();
        let closes = |line: &u32| file.line(*line).is_some_and(is_end);
        let missed = lines
            .into_iter()
            .filter(|line| !reached(line) && !closes(line));
        let missed: Vec<u32> = missed.collect();
        (!missed.is_empty()).then(|| {
            let noun = if missed.len() == 1 { "line" } else { "lines" };
            format!("{noun} {} of the file never ran", ranges(&missed))
        })
    }
}

/// The end of a block alone: nothing of its own that could run.
fn is_end(line: &str) -> bool {
    let rest = line.strip_prefix("end").unwrap_or(line);
    rest.chars().all(|c| ",;)}] ".contains(c))
}

/// The warning that no client succeeded with an operation in any world.
pub(super) fn never_succeeded(op: Op) -> String {
    format!("{} never succeeded", op.name())
}

/// What no check of this lock looks at.
fn limits(file: &LockFile) -> Vec<String> {
    let mut limits = Vec::new();
    if file.reentrant {
        limits.push("holds are nested two deep at most".to_owned());
    }
    limits
}

/// `3, 5-7`.
fn ranges(lines: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for line in lines {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *line => *last = *line,
            _ => ranges.push((*line, *line)),
        }
    }
    let texts = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    texts.collect::<Vec<_>>().join(", ")
}
