//! A run: check a matrix of locks and assumptions, replay what was found on
//! real servers, and put both into one report.
//!
//! Each violation is replayed as often as the run file says, and must be
//! reproduced every time; each assumption set's world is walked at random, and
//! no walk may diverge. A cell whose real side disagrees is red, whatever the
//! model says.

pub mod config;
mod crew;
pub mod directed;
pub mod free;

use std::any::Any;
use std::collections::BTreeMap;

use crate::check::{
    CheckError, CheckOptions, CheckResult, Checker, Chosen, ExploreOptions, Guard, Observer, Sizes,
    Verdict,
};
use crate::lock::LockFile;
use crate::replay::gate::GateOptions;
use crate::report;
use crate::report::model::{
    self, Cell, Counterexample, LockText, Replay, Replays, Report, SourceFile, Walks,
};
use crate::shell;
use crate::trace::Trace;
use crate::world::catalogue::{FAULTS, PROPERTIES, Switch};
use crate::world::concrete;

use config::{Config, ConfigError, Group};
use crew::Crew;

/// Where a run gets its locks, and what it tells on the way.
pub trait Stage: Observer {
    /// A built-in lock or a file.
    fn load(&self, name: &str) -> Result<LockFile, CampaignError>;
    /// One line about what is being done.
    fn say(&self, text: &str);
    /// From here on a lock file decides how long `what` takes, until the value that is
    /// given goes; whoever runs the campaign bounds that.
    fn bound(&self, what: &str) -> Box<dyn Any>;
    /// Names the file into which a counterexample is written.
    fn trace_path(&self, id: &str) -> String;
}

/// What ended a run before its report.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Check(#[from] CheckError),
    #[error("{0}")]
    Load(String),
    #[error("failed to replay {what}: {error}")]
    Harness { what: String, error: String },
    #[error("failed to start a thread for replays: {0}")]
    Thread(std::io::Error),
}

/// What is said of a cell that a stopped run did not come to.
pub const NOT_RUN: &str = "not run: the run was interrupted";

/// A run in progress.
pub struct Campaign<'s> {
    config: Config,
    stage: &'s dyn Stage,
    crew: Crew,
    explore: ExploreOptions,
    report: Report,
    /// Worlds that were come to so far, those of other parts as well.
    worlds: usize,
    /// Results by setup and steps.
    replayed: BTreeMap<String, (Replays, Option<Replay>)>,
}

impl<'s> Campaign<'s> {
    /// Prepares a run. `report` carries the heading; its lists are filled here.
    pub fn new(
        config: Config,
        stage: &'s dyn Stage,
        runtime: tokio::runtime::Runtime,
        gate: GateOptions,
        explore: ExploreOptions,
        report: Report,
    ) -> Campaign<'s> {
        Campaign {
            crew: Crew::new(runtime, gate),
            config,
            stage,
            explore,
            report,
            worlds: 0,
            replayed: BTreeMap::new(),
        }
    }

    /// Does the whole run. Cells that it does not come to because it is told to stop
    /// are unknown.
    ///
    /// # Errors
    /// If a lock cannot be checked or the harness breaks; a violation or a
    /// divergence is no error but a cell of the report.
    pub fn run(mut self) -> Result<Report, CampaignError> {
        self.report.properties = PROPERTIES
            .iter()
            .map(|info| (info.id.into(), info.meaning.into()))
            .collect();
        self.report.assumptions = FAULTS
            .iter()
            .map(|info| (info.id.into(), info.meaning.into()))
            .collect();
        for group in self.config.group.clone() {
            for name in &group.locks {
                self.lock(&group, name)?;
            }
        }
        Ok(self.report)
    }

    fn lock(&mut self, group: &Group, name: &str) -> Result<(), CampaignError> {
        let file = self.stage.load(name)?;
        let bound = self.stage.bound(&format!("a first look at {}", file.name));
        let sets = self.own_sets(group)?;
        if sets.is_empty() {
            return Ok(());
        }
        if self.report.lock(&file.name).is_none() {
            self.report.locks.push(lock_text(&file));
        }
        let sizes = Sizes {
            clients: group.clients,
            nodes: group.nodes.unwrap_or(file.nodes.default),
            ttl_ticks: group.ttl_ticks,
            ..Sizes::for_file(&file)
        };
        let chosen = Chosen {
            ttl_ticks: true,
            tick_ms: false,
        };
        let sizes = match self.is_stopped() {
            true => sizes,
            false => sizes.fitted(&file, chosen, &self.explore.should_stop),
        };
        drop(bound);
        let options = CheckOptions {
            sizes: sizes.clone(),
            properties: group.properties()?,
            explore: ExploreOptions {
                states_max: Some(self.config.states_max),
                ..self.explore.clone()
            },
            guard: Guard::usual(self.config.seed),
            timed: false,
        };
        let mut checker = Checker::new(&file, options)?;
        checker.order(group.order.clone());
        for set in sets {
            self.set(&mut checker, &file, &sizes, &set)?;
        }
        Ok(())
    }

    /// The assumption sets that are this part's to check.
    fn own_sets(&mut self, group: &Group) -> Result<Vec<Vec<Switch>>, CampaignError> {
        let first = self.worlds;
        let sets = group.sets()?;
        self.worlds += sets.len();
        let part = self.report.partition;
        let own = |place: &usize| part.is_none_or(|part| part.takes(first + place));
        let sets = sets.into_iter().enumerate();
        Ok(sets
            .filter(|(place, _)| own(place))
            .map(|(_, set)| set)
            .collect())
    }

    fn is_stopped(&self) -> bool {
        (self.explore.should_stop)()
    }

    /// One assumption set of one lock: a column of cells.
    fn set(
        &mut self,
        checker: &mut Checker,
        file: &LockFile,
        sizes: &Sizes,
        set: &[Switch],
    ) -> Result<(), CampaignError> {
        if self.is_stopped() {
            for result in checker.not_checked(set, NOT_RUN) {
                self.cell(file, sizes, set, result, Walks::default())?;
            }
            return Ok(());
        }
        let title = title(file, sizes, set);
        self.stage.say(&format!("{title}: exploring"));
        let bound = self.stage.bound(&format!("the check of {title}"));
        let results = checker.check_set(set, self.stage)?;
        drop(bound);
        self.stage.say(&format!("{title}: walking on real servers"));
        let walks = self.walk(checker, file, set, &title)?;
        for result in results {
            self.stage.say(&format!("{title}: {}", result.property));
            self.cell(file, sizes, set, result, walks)?;
        }
        Ok(())
    }

    fn walk(
        &mut self,
        checker: &mut Checker,
        file: &LockFile,
        set: &[Switch],
        title: &str,
    ) -> Result<Walks, CampaignError> {
        let first = self.config.seed;
        let seeds = first..first + u64::from(self.config.walks);
        if self.is_stopped() {
            return Ok(Walks::default());
        }
        let bound = self
            .stage
            .bound(&format!("walking through the model of {title}"));
        let traces = checker.walks(set, seeds, self.config.walk_moves)?;
        drop(bound);
        let stop = &self.explore.should_stop;
        let replays = self.crew.replay(&traces, &file.path, stop)?;
        let mut walks = Walks::default();
        for (trace, replay) in traces.into_iter().zip(replays) {
            let Some(replay) = replay else { continue };
            walks.count += 1;
            walks.steps += trace.steps.len() as u64;
            if replay != Replay::Reproduced {
                walks.diverged += 1;
                let id = format!("{}-walk-{}", file.name, trace.seed.unwrap_or_default());
                self.stage.say(&format!("{title}: walk {id} diverged"));
                self.keep(id, trace, Some(replay));
            }
        }
        Ok(walks)
    }

    fn cell(
        &mut self,
        file: &LockFile,
        sizes: &Sizes,
        set: &[Switch],
        result: CheckResult,
        walks: Walks,
    ) -> Result<(), CampaignError> {
        let mut replays = None;
        let mut counterexample = None;
        if let Some(trace) = &result.trace {
            let (count, id) = self.counterexample(trace, file)?;
            replays = Some(count).filter(|count| count.attempts > 0 || !self.is_stopped());
            counterexample = Some(id);
        }
        let holds = result.verdict == Verdict::Holds;
        self.report.cells.push(Cell {
            lock: file.name.clone(),
            property: result.property.clone(),
            assumptions: result.assumptions.clone(),
            sizes: model::Sizes {
                clients: sizes.clients,
                nodes: sizes.nodes,
                ttl_ticks: u32::from(sizes.ttl_ticks),
            },
            verdict: result.verdict,
            expected: None,
            reason: result.reason,
            states: result.states,
            transitions: result.transitions,
            depth: result.depth,
            seconds: result.seconds,
            replays,
            walks: Some(walks).filter(|walks| holds && (walks.count > 0 || !self.is_stopped())),
            counterexample,
            command: command(file, sizes, set, &result.property),
        });
        Ok(())
    }

    /// Replays and keeps a counterexample. One run often violates several
    /// properties with the same steps; those are replayed once.
    fn counterexample(
        &mut self,
        trace: &Trace,
        file: &LockFile,
    ) -> Result<(Replays, String), CampaignError> {
        let key = serde_json::to_string(&(&trace.setup, &trace.steps)).unwrap_or_default();
        let known = self.replayed.get(&key).cloned();
        let (count, last) = match known {
            Some(known) => known,
            None => self.replay_often(trace, file)?,
        };
        self.replayed.insert(key, (count, last.clone()));
        let id = report::counterexample_id(&file.name, self.report.counterexamples.len());
        self.keep(id.clone(), trace.clone(), last);
        Ok((count, id))
    }

    /// Replays one counterexample as often as the run file says. What is kept
    /// is a failure, if there was one: that is what a reader wants to see.
    fn replay_often(
        &mut self,
        trace: &Trace,
        file: &LockFile,
    ) -> Result<(Replays, Option<Replay>), CampaignError> {
        let traces = vec![trace.clone(); self.config.replays as usize];
        let stop = &self.explore.should_stop;
        let replays = self.crew.replay(&traces, &file.path, stop)?;
        let replays: Vec<Replay> = replays.into_iter().flatten().collect();
        let good = |replay: &&Replay| **replay == Replay::Reproduced;
        let count = Replays {
            reproduced: replays.iter().filter(good).count() as u32,
            attempts: replays.len() as u32,
        };
        let bad = replays.iter().find(|replay| !good(replay));
        Ok((count, bad.or(replays.first()).cloned()))
    }

    fn keep(&mut self, id: String, trace: Trace, replay: Option<Replay>) {
        let path = self.stage.trace_path(&id);
        let replay_command = Some(format!("lockproof replay {}", shell::word(&path)));
        self.report.counterexamples.push(Counterexample {
            id,
            trace,
            replay,
            replay_command,
        });
    }
}

fn lock_text(file: &LockFile) -> LockText {
    let reference = concrete::reference(file);
    let own = SourceFile {
        path: file.path.clone(),
        text: file.text.to_string(),
    };
    let scripts = file.scripts.iter().map(|(name, text)| SourceFile {
        path: format!("lua/{name}.lua"),
        text: text.clone(),
    });
    LockText {
        name: reference.name,
        path: reference.path,
        sha256: reference.sha256,
        files: std::iter::once(own).chain(scripts).collect(),
    }
}

fn title(file: &LockFile, sizes: &Sizes, set: &[Switch]) -> String {
    let names: Vec<&str> = set.iter().map(|switch| switch.fault.info().id).collect();
    let names = if names.is_empty() {
        "no faults".into()
    } else {
        names.join(" + ")
    };
    let nodes = if sizes.nodes > 1 {
        format!(" on {}", sizes.nodes)
    } else {
        String::new()
    };
    format!("{}{nodes}, {names}", file.name)
}

/// The command line that repeats a cell.
fn command(file: &LockFile, sizes: &Sizes, set: &[Switch], property: &str) -> String {
    let names: Vec<&str> = set.iter().map(|switch| switch.fault.info().id).collect();
    let names = if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(",")
    };
    let path = shell::word(&file.path);
    let mut command = format!("lockproof check {path} --assume {names}");
    let mut extra: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for switch in set {
        let info = switch.fault.info();
        if switch.budget != info.budget {
            extra
                .entry("--budget")
                .or_default()
                .push(format!("{}={}", info.id, switch.budget));
        }
        if switch.size != switch.fault.default_size(sizes.ttl_ticks) {
            extra
                .entry("--size")
                .or_default()
                .push(format!("{}={}", info.id, switch.size));
        }
    }
    for (option, values) in extra {
        command += &format!(" {option} {}", values.join(","));
    }
    if sizes.clients != 2 {
        command += &format!(" --clients {}", sizes.clients);
    }
    if sizes.nodes != file.nodes.default {
        command += &format!(" --nodes {}", sizes.nodes);
    }
    if sizes.ttl_ticks != 3 {
        command += &format!(" --ttl-ticks {}", sizes.ttl_ticks);
    }
    command + &format!(" --property {property}")
}
