//! A run: check a matrix of locks and assumptions, replay what was found on
//! real servers, and put both into one report.
//!
//! Two threads: one asks the model (`model_side.rs`), the other replays what it said of the
//! world before. Replays mostly wait for processes, and searches never do.
//!
//! Each violation is replayed as often as the run file says, and must be
//! reproduced every time; each assumption set's world is walked at random, and
//! no walk may diverge. A cell whose real side disagrees is red, whatever the
//! model says.

pub mod config;
mod crew;
pub mod directed;
pub mod history;
mod kept;
mod model_side;
pub mod mutation;
pub mod pauses;
mod real_side;
pub mod rows;
pub mod session;
pub mod shell;

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;

use lockproof_model::check::{
    CheckError, CheckResult, ExploreOptions, Observer, ShouldStop, Sizes, Verdict,
};
use lockproof_model::lock::LockFile;
use lockproof_model::world::catalogue::{FAULTS, PROPERTIES, Switch};
use lockproof_model::world::concrete;
use lockproof_replay::GateOptions;
use lockproof_report as report;
use lockproof_report::model::{
    self, About, Cell, Counterexample, LockText, OnServer, Replay, Report, SourceFile,
};
use lockproof_trace::Trace;

use config::{Config, ConfigError};
use kept::{Asking, Evidence, Kept};
use model_side::{ModelSide, ModelledWorld};
use real_side::{RealSide, Walked};

/// Where a run gets its locks, and what it tells on the way.
pub trait Stage: Observer + Sync {
    /// A built-in lock or a file.
    fn load(&self, name: &str) -> Result<LockFile, CampaignError>;
    /// One line about what is being done.
    fn say(&self, text: &str);
    /// From here on a lock file decides how long `what` takes, until the value that is
    /// given goes; whoever runs the campaign bounds that.
    fn bound(&self, what: &str) -> Box<dyn Any>;
    /// A search of what is bounded now is to stop after so many seconds.
    fn within(&self, _seconds: u64) {}
    /// Hash of the program that answers, if finished worlds are to be kept and found again.
    fn build(&self) -> Option<String> {
        None
    }
    /// What was kept under this question, as it was kept.
    fn recall(&self, _question: &str) -> Option<String> {
        None
    }
    /// Keeps the answer to a question, whole or not at all.
    fn keep(&self, _question: &str, _answer: &str) {}
    /// All cells of one lock at one size are there, or as many of them as there will be in this place.
    fn finished(&self, _cells: &[Cell]) {}
    /// Something that is worth a line beside the answer.
    fn warn(&self, text: &str) {
        self.say(text);
    }
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

/// Worlds that the model may be ahead of the replays.
const AHEAD: usize = 2;

/// Says, when it goes, that nobody waits for the model any more: also if replays panic.
struct Waits(Arc<AtomicBool>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A search that also stops when nobody waits for it any more.
fn stopped_by(explore: &ExploreOptions, abandoned: &Arc<AtomicBool>) -> ExploreOptions {
    let (stop, abandoned) = (Arc::clone(&explore.should_stop), Arc::clone(abandoned));
    ExploreOptions {
        should_stop: Arc::new(move || stop() || abandoned.load(Ordering::SeqCst)),
        ..explore.clone()
    }
}

/// A run in progress.
pub struct Campaign<'s> {
    config: Config,
    stage: &'s dyn Stage,
    real: RealSide,
    proxy: String,
    explore: ExploreOptions,
    interrupted: ShouldStop,
    report: Report,
    /// The first cell of the lock that is under way.
    first: usize,
}

impl<'s> Campaign<'s> {
    /// Prepares a run. `report` carries the heading; its lists are filled here. `explore`
    /// says when a search is to stop, `interrupted` when all is.
    pub fn new(
        config: Config,
        stage: &'s dyn Stage,
        real: (tokio::runtime::Runtime, GateOptions),
        explore: ExploreOptions,
        interrupted: ShouldStop,
        report: Report,
    ) -> Campaign<'s> {
        let (runtime, gate) = real;
        let proxy = gate.proxy.name().to_owned();
        let real = RealSide::new(runtime, gate, config.replays, Arc::clone(&interrupted));
        Campaign {
            real,
            proxy,
            config,
            stage,
            explore,
            interrupted,
            report,
            first: 0,
        }
    }

    /// From now on everything is replayed with this gate's server as well, and each cell says on
    /// which servers it was reproduced.
    pub fn also_on(&mut self, gate: GateOptions) {
        self.real.also_on(gate);
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
        let (sender, receiver) = sync_channel(AHEAD);
        let abandoned = Arc::new(AtomicBool::new(false));
        let asking = self.stage.build().map(|build| Asking {
            build,
            real: [self.real.servers(), vec![self.proxy.clone()]].concat(),
        });
        let model = ModelSide::new(
            &self.config,
            self.stage,
            stopped_by(&self.explore, &abandoned),
            self.report.partition,
            asking,
        );
        std::thread::scope(|scope| {
            let model = std::thread::Builder::new()
                .name("model".into())
                .spawn_scoped(scope, move || model.run(|world| sender.send(world).is_ok()))
                .map_err(CampaignError::Thread)?;
            let waits = Waits(abandoned);
            let replayed = receiver.iter().try_for_each(|world| self.world(world));
            drop((waits, receiver));
            let modelled = model.join().unwrap_or_else(|panic| resume_unwind(panic));
            replayed.and(modelled)
        })?;
        self.finished();
        Ok(self.report)
    }

    /// Tells of the lock that was under way.
    fn finished(&mut self) {
        let cells = &self.report.cells[self.first..];
        if !cells.is_empty() {
            self.stage.finished(cells);
        }
        self.first = self.report.cells.len();
    }

    /// One assumption set of one lock: a column of cells.
    fn world(&mut self, world: ModelledWorld) -> Result<(), CampaignError> {
        let ModelledWorld {
            file,
            sizes,
            set,
            results,
            walks,
            warnings,
            reach,
            question,
            kept,
        } = world;
        let another =
            |cell: &Cell| (cell.lock.as_str(), cell.sizes) != (file.name.as_str(), told(&sizes));
        if self.report.cells.last().is_some_and(another) {
            self.finished();
        }
        if self.report.lock(&file.name).is_none() {
            self.report.locks.push(lock_text(&file));
        }
        self.report.warn(&file.name, warnings.clone());
        let is_known = kept.is_some();
        let (walked, mut evidence) = match kept {
            Some((walks, on, evidence)) => {
                let known = Walked {
                    walks,
                    on,
                    strayed: Vec::new(),
                };
                (known, evidence.into_iter().map(Some).collect())
            }
            None => (
                self.walk(&file, walks, &title(&file, &sizes, &set))?,
                vec![None; results.len()],
            ),
        };
        for (result, evidence) in results.iter().zip(&mut evidence) {
            self.cell((&file, &sizes, &set), result, &walked, evidence)?;
        }
        if let Some(question) = question.filter(|_| !is_known && !(self.interrupted)()) {
            let kept = Kept {
                results,
                evidence: evidence
                    .into_iter()
                    .map(Option::unwrap_or_default)
                    .collect(),
                walks: walked.walks,
                walked_on: walked.on,
                warnings,
                reach,
            };
            if kept.is_final(&question) && walked.walks.count == self.config.walks {
                let question = serde_json::to_string(&question).unwrap_or_default();
                let kept = serde_json::to_string(&kept).unwrap_or_default();
                self.stage.keep(&question, &kept);
            }
        }
        Ok(())
    }

    fn walk(
        &mut self,
        file: &LockFile,
        traces: Vec<Trace>,
        title: &str,
    ) -> Result<Walked, CampaignError> {
        if !traces.is_empty() {
            self.stage.say(&format!("{title}: walking on real servers"));
        }
        let mut walked = self.real.walks(&traces, file)?;
        for (trace, replay) in std::mem::take(&mut walked.strayed) {
            let id = format!("{}-walk-{}", file.name, trace.seed.unwrap_or_default());
            self.stage.say(&format!("{title}: walk {id} diverged"));
            self.keep(id, trace, Some(replay));
        }
        Ok(walked)
    }

    /// One property. What real servers say of it is asked, unless it is known.
    fn cell(
        &mut self,
        (file, sizes, set): (&LockFile, &Sizes, &[Switch]),
        result: &CheckResult,
        walked: &Walked,
        evidence: &mut Option<Evidence>,
    ) -> Result<(), CampaignError> {
        let mut counterexample = None;
        if let Some(trace) = &result.trace {
            let (id, found) = match evidence.take() {
                Some(known) => (self.kept_counterexample(trace, file), known),
                None => {
                    let title = title(file, sizes, set);
                    self.stage
                        .say(&format!("{title}: replaying {}", result.property));
                    self.counterexample(trace, file)?
                }
            };
            counterexample = Some(id);
            *evidence = Some(found);
        }
        let found = evidence.get_or_insert_default().clone();
        let holds = result.verdict == Verdict::Holds;
        let walks = Some(walked.walks);
        let on = if holds { walked.on.clone() } else { found.on };
        self.report.cells.push(Cell {
            lock: file.name.clone(),
            property: result.property.clone(),
            assumptions: result.assumptions.clone(),
            sizes: told(sizes),
            verdict: result.verdict,
            expected: None,
            reason: result.reason.clone(),
            states: result.states,
            transitions: result.transitions,
            depth: result.depth,
            seconds: result.seconds,
            replays: found.replays,
            walks: walks.filter(|walks| holds && (walks.count > 0 || !(self.interrupted)())),
            on: on.into_iter().filter(says_something).collect(),
            counterexample,
            command: command(file, sizes, set, &result.property),
        });
        Ok(())
    }

    /// Replays and keeps a counterexample.
    fn counterexample(
        &mut self,
        trace: &Trace,
        file: &LockFile,
    ) -> Result<(String, Evidence), CampaignError> {
        let replayed = self.real.violation(trace, file)?;
        let id = report::counterexample_id(&file.name, self.report.counterexamples.len());
        self.keep(id.clone(), trace.clone(), replayed.last);
        let replays = Some(replayed.count);
        let evidence = Evidence {
            replays: replays.filter(|count| count.attempts > 0 || !(self.interrupted)()),
            on: replayed.on,
        };
        Ok((id, evidence))
    }

    /// A counterexample that an earlier run has replayed: only those are kept that were reproduced.
    fn kept_counterexample(&mut self, trace: &Trace, file: &LockFile) -> String {
        let id = report::counterexample_id(&file.name, self.report.counterexamples.len());
        self.keep(id.clone(), trace.clone(), Some(Replay::Reproduced));
        id
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

/// Sizes as reports have them.
fn told(sizes: &Sizes) -> model::Sizes {
    model::Sizes {
        clients: sizes.clients,
        nodes: sizes.nodes,
        ttl_ticks: u32::from(sizes.ttl_ticks),
    }
}

fn says_something(one: &OnServer) -> bool {
    one.replays.is_some() || one.walks.is_some() || one.note.is_some()
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
        description: file.description.clone(),
        about: About {
            works: file.about.works.clone(),
            claims: file.about.claims.clone(),
            repair: file.about.repair.clone(),
        },
        warnings: Vec::new(),
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
