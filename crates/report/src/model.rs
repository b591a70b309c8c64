//! The result model: everything that a published result says.
//!
//! A run fills a [`Report`]; JSON, Markdown, HTML, JUnit, the terminal table and
//! the baseline are renderings of it and look nowhere else. It is versioned,
//! because reports are kept and compared across versions. It holds the texts of
//! the lock files and the configuration, so that a reader needs nothing but the
//! report to see what was checked, and the command that repeats each cell.
//!
//! The glossary (what a property or a fault means) comes from whoever owns the
//! catalogue and is carried along; the renderings have no list of their own that
//! could drift from it.

use std::collections::BTreeMap;

use lockproof_model::check::Verdict;
use lockproof_trace::words::{plural, thousands};
use lockproof_trace::{Assumption, Trace};
use serde::{Deserialize, Serialize};

use super::scenario::ScenarioRow;

/// The schema name that this version reads and writes.
pub const SCHEMA: &str = "lockproof.report/1";

/// A run over locks, properties and assumption sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Version of lockproof, e.g. `0.1.0`.
    pub tool_version: String,
    /// What it ran on, as far as results may depend on it.
    pub environment: Environment,
    /// The seed of everything that was drawn.
    pub seed: u64,
    /// The command line that makes the whole report again.
    pub command: String,
    /// The configuration's text, as read.
    pub config: String,
    /// Which part of a divided run this is; `None` for a whole one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<Partition>,
    /// Property id to its meaning in a sentence.
    pub properties: BTreeMap<String, String>,
    /// Assumption name to its meaning in a sentence.
    pub assumptions: BTreeMap<String, String>,
    /// The locks, in the order of the report.
    pub locks: Vec<LockText>,
    /// The cells, in the order of the report.
    pub cells: Vec<Cell>,
    /// The counterexamples that cells point to.
    pub counterexamples: Vec<Counterexample>,
    /// Scenario x lock, with free runs; reports of other commands have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scenarios: Vec<ScenarioRow>,
}

/// What the run ran on. No host names, paths, times or speeds: two machines with
/// the same servers make the same report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// The real servers, in the order in which they were used; empty if nothing
    /// was replayed.
    pub servers: Vec<Server>,
    /// `embedded` or `toxiproxy VERSION`; `None` if nothing was replayed.
    pub proxy: Option<String>,
}

/// A part of a run that is divided over several jobs: of the worlds, in the order
/// in which a whole run would take them, every `of`-th.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partition {
    /// Which part, from 1.
    pub index: u32,
    /// Number of parts.
    pub of: u32,
}

impl Partition {
    /// Whether the world at `place`, counted from 0, belongs to this part.
    pub fn takes(self, place: usize) -> bool {
        place % self.of.max(1) as usize + 1 == self.index as usize
    }
}

impl std::fmt::Display for Partition {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl std::str::FromStr for Partition {
    type Err = String;

    /// Reads `k/n`, with k from 1 to n and n up to 1000.
    fn from_str(text: &str) -> Result<Partition, String> {
        let wrong =
            || format!("`{text}` is no partition; write k/n, with k from 1 to n, such as 2/4");
        let (index, of) = text.split_once('/').ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
        let (index, of) = (number(index)?, number(of)?);
        if !(1..=1000).contains(&of) || !(1..=of).contains(&index) {
            return Err(wrong());
        }
        Ok(Partition { index, of })
    }
}

/// A server program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// `redis-server`, `valkey-server`, ...
    pub name: String,
    /// As the server states it.
    pub version: String,
}

/// A lock and its texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockText {
    /// The lock's name, to which cells refer.
    pub name: String,
    /// The path, or the built-in name, that was checked.
    pub path: String,
    /// SHA-256 (hex) over the file and all of its scripts.
    pub sha256: String,
    /// What it is, in a line; empty if the file does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What the file says of it to readers.
    #[serde(default, skip_serializing_if = "About::is_empty")]
    pub about: About,
    /// What a user of the lock should know, whatever the verdicts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The lock file first, then its scripts.
    pub files: Vec<SourceFile>,
}

/// What a lock file says of its lock. Each part may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// How it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub works: Option<String>,
    /// What is claimed for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<String>,
    /// How to repair it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<String>,
}

impl About {
    /// Nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == About::default()
    }
}

/// A file's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceFile {
    /// Path relative to where the command ran.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// Sizes of a check. Cells with other sizes are other cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Number of clients.
    pub clients: u8,
    /// Number of independent nodes.
    pub nodes: u8,
    /// The lease in model ticks.
    pub ttl_ticks: u32,
}

/// One question and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Name of a lock in [`Report::locks`].
    pub lock: String,
    /// Catalogue id of the property.
    pub property: String,
    /// The assumption set, in catalogue order; empty for "no faults".
    pub assumptions: Vec<Assumption>,
    /// Sizes of the check.
    pub sizes: Sizes,
    /// The model's verdict.
    pub verdict: Verdict,
    /// The verdict that the baseline expects, if it knows the cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Verdict>,
    /// Why the verdict is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Distinct states explored.
    pub states: u64,
    /// Transitions explored.
    pub transitions: u64,
    /// Length of the longest shortest path from the initial state, in moves.
    pub depth: u32,
    /// Wall-clock time in s. The one figure that differs from run to run.
    pub seconds: f64,
    /// How often the counterexample was replayed (violated cells).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replays: Option<Replays>,
    /// Random walks of the model that were replayed (cells that hold).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walks: Option<Walks>,
    /// The same on each of several servers, if the run had several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<OnServer>,
    /// Id of a counterexample in [`Report::counterexamples`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterexample: Option<String>,
    /// The command line that repeats this cell.
    pub command: String,
}

/// What one of several servers says of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnServer {
    /// Its name and version, such as `redis 7.0.15`.
    pub server: String,
    /// Replays of the counterexample (violated cells).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replays: Option<Replays>,
    /// Random walks (cells that hold).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walks: Option<Walks>,
    /// Why this server need not agree: the lock asks for another one, or the versions are known to
    /// differ in what the trace does. What it says then contradicts nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Replays of one counterexample on real servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replays {
    /// Number that gave exactly the predicted replies.
    pub reproduced: u32,
    /// Number of replays that were started.
    pub attempts: u32,
}

/// Replays of random walks on real servers.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Walks {
    /// Number of walks.
    pub count: u32,
    /// Steps of all walks together.
    pub steps: u64,
    /// Walks in which a real reply differed from the predicted one.
    pub diverged: u32,
}

/// A trace that violates a property, and what became of it on real servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counterexample {
    /// Unique in the report, e.g. `setnx-expire-01`.
    pub id: String,
    /// The trace.
    pub trace: Trace,
    /// The result of its last replay; `None` if it was not replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// The command line that replays it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_command: Option<String>,
}

/// What became of a replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Replay {
    /// Every reply was the predicted one.
    Reproduced,
    /// The two sides went apart: a bug in the model, always a failure.
    Diverged {
        /// The step, counted from 1 as the story numbers them.
        step: usize,
        /// What the model predicted.
        model: String,
        /// What the real side did.
        real: String,
    },
    /// The real side cannot do what the trace asks for.
    NotReplayable {
        /// Why not, in words.
        reason: String,
    },
}

/// Whether the real side agrees with a cell's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// Every replay, or every walk, went as predicted.
    AsPredicted,
    /// Nothing was run on real servers.
    Untested,
    /// At least one replay or walk went another way.
    Contradicted,
}

impl Cell {
    /// Whether the real side agrees. A verdict counts only when it does.
    pub fn agreement(&self) -> Agreement {
        let replays = self
            .replays
            .map(|r| (r.attempts, r.attempts - r.reproduced.min(r.attempts)));
        let walks = self.walks.map(|w| (w.count, w.diverged));
        let further = self.on.iter().filter(|one| one.note.is_none());
        let further = further.flat_map(|one| {
            let replays = one.replays;
            let replays = replays.map(|r| (r.attempts, r.attempts - r.reproduced.min(r.attempts)));
            [replays, one.walks.map(|w| (w.count, w.diverged))]
        });
        let (runs, wrong) = [replays, walks]
            .into_iter()
            .chain(further)
            .flatten()
            .fold((0_u32, 0_u32), |(a, b), (runs, wrong)| {
                (a.saturating_add(runs), b.saturating_add(wrong))
            });
        match (runs, wrong) {
            (_, 1..) => Agreement::Contradicted,
            (0, _) => Agreement::Untested,
            _ => Agreement::AsPredicted,
        }
    }

    /// Whether real servers reproduced the violation, in every replay.
    pub fn is_reproduced(&self) -> bool {
        let every =
            |replays: Replays| replays.attempts > 0 && replays.reproduced == replays.attempts;
        self.verdict == Verdict::Violated && self.replays.is_some_and(every)
    }

    /// Whether both are answers of one exploration.
    fn is_of_the_world_of(&self, other: &Cell) -> bool {
        (&self.lock, self.sizes, &self.assumptions)
            == (&other.lock, other.sizes, &other.assumptions)
    }

    /// Whether this cell must turn a run red: it is not as expected (without an
    /// expectation: it does not hold), or the real side contradicts it.
    pub fn is_bad(&self) -> bool {
        self.verdict != self.expected.unwrap_or(Verdict::Holds)
            || self.agreement() == Agreement::Contradicted
    }
}

impl Report {
    /// The counterexample with this id.
    pub fn counterexample(&self, id: &str) -> Option<&Counterexample> {
        self.counterexamples.iter().find(|c| c.id == id)
    }

    /// The lock with this name.
    pub fn lock(&self, name: &str) -> Option<&LockText> {
        self.locks.iter().find(|l| l.name == name)
    }

    /// Adds warnings to a lock's, each once, in an order that is the same for any order in
    /// which they come.
    pub fn warn(&mut self, lock: &str, warnings: Vec<String>) {
        if let Some(lock) = self.locks.iter_mut().find(|one| one.name == lock) {
            lock.warnings.extend(warnings);
            lock.warnings.sort();
            lock.warnings.dedup();
        }
    }

    /// What each of several servers says of all violations: `801 of 801 violations reproduced on redis
    /// 7.0.15, 799 of 801 on valkey 9.1.2 (2 of them need not be: ..)`. Nothing if there was one server.
    pub fn servers_words(&self) -> Option<String> {
        let mut servers: Vec<&str> = Vec::new();
        for one in self.cells.iter().flat_map(|cell| &cell.on) {
            if !servers.contains(&one.server.as_str()) {
                servers.push(&one.server);
            }
        }
        let says = |server: &&str| {
            let cells = self
                .cells
                .iter()
                .filter(|cell| cell.verdict == Verdict::Violated);
            let all: Vec<&OnServer> = cells
                .flat_map(|cell| cell.on.iter().find(|one| one.server == **server))
                .collect();
            let every = |all: Replays| all.attempts > 0 && all.reproduced == all.attempts;
            let good = all
                .iter()
                .filter(|one| one.replays.is_some_and(every))
                .count();
            let asked = all.iter().filter(|one| one.replays.is_some()).count();
            let mut text = format!("{good} of {asked} on {server}");
            let mut notes: Vec<(&str, usize)> = Vec::new();
            for note in all.iter().filter_map(|one| one.note.as_deref()) {
                match notes.iter_mut().find(|(known, _)| *known == note) {
                    Some((_, count)) => *count += 1,
                    None => notes.push((note, 1)),
                }
            }
            if !notes.is_empty() {
                let notes: Vec<String> = notes
                    .iter()
                    .map(|(note, count)| format!("{count}: {note}"))
                    .collect();
                text += &format!(" ({})", notes.join("; "));
            }
            text
        };
        let said: Vec<String> = servers.iter().map(says).collect();
        (!said.is_empty()).then(|| format!("violations reproduced: {}", said.join(", ")))
    }

    /// Numbers for a summary.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for world in self.worlds() {
            totals.worlds += 1;
            // Every cell of a world is of one exploration, and of the same walks.
            let states = world.iter().map(|cell| cell.states).max().unwrap_or(0);
            totals.states = totals.states.saturating_add(states);
            let walks = world.iter().find_map(|cell| cell.walks);
            if let Some(walks) = walks.filter(|walks| walks.count > 0) {
                totals.worlds_walked += 1;
                totals.walks += u64::from(walks.count);
                totals.walks_agree += u64::from(walks.count - walks.diverged.min(walks.count));
            }
        }
        for cell in &self.cells {
            totals.cells += 1;
            match cell.verdict {
                Verdict::Holds => totals.holds += 1,
                Verdict::Violated => totals.violated += 1,
                Verdict::Unknown => totals.unknown += 1,
            }
            if cell.expected.is_some_and(|e| e != cell.verdict) {
                totals.unexpected += 1;
            }
            totals.reproduced += usize::from(cell.is_reproduced());
            totals.contradicted += usize::from(cell.agreement() == Agreement::Contradicted);
        }
        totals
    }

    /// The cells of each world: of one lock at one size under one set of assumptions.
    fn worlds(&self) -> Vec<Vec<&Cell>> {
        let mut worlds: Vec<Vec<&Cell>> = Vec::new();
        for cell in &self.cells {
            let mut known = worlds.iter_mut().rev();
            match known.find(|world| world[0].is_of_the_world_of(cell)) {
                Some(world) => world.push(cell),
                None => worlds.push(vec![cell]),
            }
        }
        worlds
    }
}

/// Numbers for a summary. A world is one exploration: one lock at one size under one
/// set of assumptions, with a cell for each property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// All cells.
    pub cells: usize,
    /// Cells that hold.
    pub holds: usize,
    /// Cells that are violated.
    pub violated: usize,
    /// Cells without an answer.
    pub unknown: usize,
    /// Cells whose verdict is not the expected one.
    pub unexpected: usize,
    /// Violated cells whose counterexample real servers reproduced, in every replay.
    pub reproduced: usize,
    /// Cells that the real side contradicted.
    pub contradicted: usize,
    /// Worlds.
    pub worlds: usize,
    /// Worlds of which random walks were replayed on real servers.
    pub worlds_walked: usize,
    /// These walks.
    pub walks: u64,
    /// Walks that went on real servers as the model says.
    pub walks_agree: u64,
    /// States of all worlds, each world once.
    pub states: u64,
}

impl Totals {
    /// What real servers say: `5 of 5 violations reproduced on real servers`, `200 of
    /// 200 random walks of 4 worlds agree with real servers`. A reproduced violation
    /// and a walk that agrees are different things, and are never added up.
    pub fn evidence_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.violated > 0 {
            words.push(format!(
                "{} of {} reproduced on real servers",
                self.reproduced,
                plural(self.violated as u32, "violation")
            ));
        }
        if self.walks > 0 {
            words.push(format!(
                "{} of {} random walks through {} agree with real servers",
                thousands(self.walks_agree),
                thousands(self.walks),
                plural(self.worlds_walked as u32, "world")
            ));
        }
        words
    }
}

/// The word for a verdict.
pub fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Violated => "violated",
        Verdict::Unknown => "unknown",
    }
}

/// A mark beside the word, so that colour is never the only difference.
pub fn verdict_mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "✓",
        Verdict::Violated => "✗",
        Verdict::Unknown => "?",
    }
}
