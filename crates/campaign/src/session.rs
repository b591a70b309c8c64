//! The free runs of one scenario: played, judged and drawn, one file after another.
//!
//! `torture` and `scenario run --free` do the same work and differ in what they put
//! beside it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::shell;
use lockproof_history::{JudgeOptions, Judgement, ORACLES};
use lockproof_lab::binaries::{self, BinaryError};
use lockproof_lab::nemesis::FaultSpec;
use lockproof_lab::topology::TopologyKind;
use lockproof_model::lock::LockFile;
use lockproof_report::model::Environment;
use lockproof_scenario::Scenario;
use lockproof_torture::agreement;
use lockproof_torture::free::{self, FreeError, FreeOptions, FreeRun, Ground, Watch};
use lockproof_torture::setting;
use lockproof_torture::strikes::Strike;

use super::history::{self, Beside, HistoryError};
use super::pauses::{Pause, with_pause};
use super::rows::{Outcome, Outcomes};

/// Whoever sees how runs go, and may end them.
pub trait Audience {
    /// A run begins. What is given is told a few times a second how it goes, and may end
    /// it; it goes when the run has ended.
    fn begins<'a>(&'a self, title: &'a str) -> Box<Watch<'a>>;
    /// A run has ended, and its history is in this file.
    ///
    /// # Errors
    /// If nobody listens any more.
    fn ended(&self, title: &str, run: &FreeRun, history: &Path) -> std::io::Result<()>;
    /// Something that is to be known beside the answer.
    fn note(&self, text: &str);
    /// No further run is to begin.
    fn is_over(&self) -> bool;
}

/// Why runs were not played to their end.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// What was asked for cannot be played, and what to do.
    #[error("{0}")]
    Refused(String),
    /// There is no server of the kind that the lock asks for.
    #[error(transparent)]
    Server(#[from] BinaryError),
    /// The run broke.
    #[error(transparent)]
    Run(#[from] FreeError),
    /// What was recorded cannot be read, or not be drawn: an error of ours.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// A file cannot be written.
    #[error("failed to write {}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// What is known cannot be written as JSON: an error of ours.
    #[error("failed to write a judgement: {0}")]
    Json(#[from] serde_json::Error),
    /// The audience is gone.
    #[error("failed to write to standard output: {0}")]
    Audience(std::io::Error),
    /// One of these, of one run.
    #[error("the run of {lock} with seed {seed} failed: {error}")]
    One {
        /// Of which lock.
        lock: String,
        /// Its seed.
        seed: u64,
        /// What ended it.
        error: Box<SessionError>,
    },
}

impl SessionError {
    /// True if what was asked for is at fault, and not lockproof or the machine.
    pub fn is_refusal(&self) -> bool {
        match self {
            SessionError::Refused(_) => true,
            SessionError::Run(error) => error.is_refusal(),
            SessionError::One { error, .. } => error.is_refusal(),
            _ => false,
        }
    }
}

/// The free runs of one scenario.
pub struct Session<'a> {
    /// The story.
    pub scenario: &'a Scenario,
    /// The scenario as the command line names it.
    pub named: String,
    /// For how long clients work.
    pub duration: Duration,
    /// Runs of each lock; at each pause length, if there are several.
    pub runs: u32,
    /// The first run's seed.
    pub seed: u64,
    /// Pause lengths in leases; none: the scenario as it stands.
    pub pauses: Vec<f64>,
    /// Where the scenario's report goes; histories go into a folder a lock.
    pub out: PathBuf,
    /// What they run on.
    pub ground: Ground,
    /// What runs them.
    pub runtime: &'a tokio::runtime::Runtime,
    /// Who sees how they go.
    pub audience: &'a dyn Audience,
}

impl Session<'_> {
    /// What the runs run on. Attached servers tell their versions only when they are
    /// asked: each row has them.
    pub fn environment(&self, own: Environment) -> Environment {
        match self.ground.attach {
            Some(_) => Environment {
                servers: Vec::new(),
                proxy: Some("toxiproxy (attached)".into()),
            },
            None => Environment {
                proxy: Some(self.ground.proxy.name().into()),
                ..own
            },
        }
    }

    /// Plays all runs of a lock. One that fails is the last; what was done before it
    /// is given beside the failure.
    ///
    /// # Errors
    /// If there is nothing to be played, or nowhere to write.
    pub fn play(&self, lock: &LockFile) -> Result<(Outcomes, Option<SessionError>), SessionError> {
        serves(self.scenario, lock)?;
        let folder = self.out.join(&lock.name);
        std::fs::create_dir_all(&folder).map_err(|source| SessionError::File {
            path: folder,
            source,
        })?;
        let mut outcomes = Outcomes {
            duration_ms: self.duration.as_millis() as u64,
            ..Outcomes::default()
        };
        let mut scenario = self.scenario.with_lock(&lock.name);
        if self.ground.attach.is_some() {
            let kind = setting::topology_kind(&scenario, lock);
            self.leave_out(&mut scenario, kind)?;
        }
        let mut failure = None;
        if self.pauses.is_empty() {
            (outcomes.plain, failure) = self.runs_of(&scenario, lock, None);
        }
        let pauses = self.pauses.iter().map(|leases| {
            let pause = Pause::of(*leases, &scenario);
            Ok((pause, with_pause(&scenario, pause, self.duration)?))
        });
        // One that does not fit is told before the first run.
        for (pause, changed) in pauses.collect::<Result<Vec<_>, SessionError>>()? {
            let (runs, failed) = self.runs_of(&changed, lock, Some(pause));
            outcomes.sweep.push((u64::from(pause.ms), runs));
            failure = failed;
            if failure.is_some() {
                break;
            }
        }
        outcomes.failed = failure.as_ref().map(SessionError::to_string);
        Ok((outcomes, failure))
    }

    /// Leaves out the faults that cannot be done to attached servers, and says so. A
    /// scenario that has no other is refused.
    fn leave_out(&self, scenario: &mut Scenario, kind: TopologyKind) -> Result<(), SessionError> {
        let faults = std::mem::take(&mut scenario.nemesis.faults);
        let had_some = !faults.is_empty();
        let mut whys = Vec::new();
        let possible = |fault: &FaultSpec| match fault.impossible_when_attached(kind) {
            None => true,
            Some(why) => {
                whys.push(format!("{}: {why}", fault.name()));
                false
            }
        };
        scenario.nemesis.faults = faults.into_iter().filter(possible).collect();
        if had_some && scenario.nemesis.faults.is_empty() {
            return Err(SessionError::Refused(format!(
                "{} cannot be run on attached servers: {}",
                scenario.name,
                whys.join("; ")
            )));
        }
        for why in whys {
            self.audience.note(&format!("left out: {why}"));
        }
        Ok(())
    }

    fn runs_of(
        &self,
        scenario: &Scenario,
        lock: &LockFile,
        pause: Option<Pause>,
    ) -> (Vec<Outcome>, Option<SessionError>) {
        let mut outcomes = Vec::new();
        for seed in self.seed..self.seed.saturating_add(u64::from(self.runs)) {
            // What was done before the end is still judged and told.
            if self.audience.is_over() {
                break;
            }
            match self.one(scenario, lock, pause, seed) {
                Ok(Some(outcome)) => outcomes.push(outcome),
                // Ended before its clients began: there is nothing to be told.
                Ok(None) => break,
                Err(error) => {
                    let failed = SessionError::One {
                        lock: lock.name.clone(),
                        seed,
                        error: Box::new(error),
                    };
                    return (outcomes, Some(failed));
                }
            }
        }
        (outcomes, None)
    }

    fn one(
        &self,
        scenario: &Scenario,
        lock: &LockFile,
        pause: Option<Pause>,
        seed: u64,
    ) -> Result<Option<Outcome>, SessionError> {
        let prefix = pause.map_or(String::new(), |pause| format!("pause-{}-ms-", pause.ms));
        let stem = format!("{}/{prefix}seed-{seed}", lock.name);
        let file = |end: &str| self.out.join(format!("{stem}{end}"));
        let options = self.options(scenario, lock, seed, file(".history.jsonl"))?;
        write(
            &file(".schedule.json"),
            &setting::schedule(&options).to_json(),
        )?;
        let pauses = pause.map_or(String::new(), |pause| {
            format!(" pauses of {} ms,", pause.ms)
        });
        let title = format!("{}, {},{pauses} seed {seed}", scenario.name, lock.name);
        let Some(run) = self.watched(&title, &options)? else {
            return Ok(None);
        };
        let told = self.audience.ended(&title, &run, &options.history);
        told.map_err(SessionError::Audience)?;
        let mut judgement = history::judge(&options.history)?;
        let planned = !scenario.nemesis.faults.is_empty();
        let strikes = history::strikes(&options.history)?;
        let strikes = planned.then_some(strikes);
        let page = self.page(&options, &judgement, strikes.as_deref(), pause)?;
        write(&file(".html"), &page)?;
        // The page marks more violations than a reader of JSON wants to see.
        for finding in &mut judgement.findings {
            finding.examples.truncate(JudgeOptions::default().examples);
        }
        let text = serde_json::to_string_pretty(&judgement)?;
        write(&file(".history.judgement.json"), &(text + "\n"))?;
        Ok(Some(Outcome {
            seed,
            run,
            judgement,
            strikes,
            history: format!("{stem}.history.jsonl"),
            page: Some(format!("{stem}.html")),
        }))
    }

    fn options(
        &self,
        scenario: &Scenario,
        lock: &LockFile,
        seed: u64,
        history: PathBuf,
    ) -> Result<FreeOptions, SessionError> {
        let mut ground = self.ground.clone();
        if ground.attach.is_none() {
            ground.server = binaries::of_kind(&ground.server, lock.server.name())?;
        }
        Ok(FreeOptions {
            scenario: scenario.clone(),
            lock: lock.clone(),
            seed,
            duration: self.duration,
            ground,
            history,
        })
    }

    /// `None` if it was ended before there was a history.
    fn watched(&self, title: &str, options: &FreeOptions) -> Result<Option<FreeRun>, SessionError> {
        let mut watch = self.audience.begins(title);
        match self.runtime.block_on(free::run(options, &mut *watch)) {
            Ok(run) => Ok(Some(run)),
            Err(FreeError::Stopped) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn page(
        &self,
        options: &FreeOptions,
        judgement: &Judgement,
        strikes: Option<&[Strike]>,
        pause: Option<Pause>,
    ) -> Result<String, SessionError> {
        let expected = options.scenario.expect.get(&options.lock.name);
        let says = |oracle: &&str| {
            let word = match agreement::predicted(expected?, oracle)? {
                true => "violated",
                false => "holds",
            };
            Some(((*oracle).to_owned(), word))
        };
        let model: Vec<_> = ORACLES.iter().filter_map(says).collect();
        let command = format!(
            "lockproof torture {} --lock {} --duration {} --runs 1 --seed {}{}",
            shell::word(&self.named),
            shell::word(&options.lock.path),
            self.duration.as_secs_f64(),
            options.seed,
            pause.map_or(String::new(), |pause| format!(" --pauses {}", pause.leases))
        );
        let beside = Beside {
            strikes,
            model: &model,
            command: Some(&command),
            report: Some("../report.html"),
        };
        Ok(history::page(&options.history, judgement, &beside)?)
    }
}

/// Whether the scenario has as many servers as the lock works with. Where the
/// primary may change, a client sees one address.
fn serves(scenario: &Scenario, lock: &LockFile) -> Result<(), SessionError> {
    let kind = setting::topology_kind(scenario, lock);
    let seen = if kind.replicates() { 1 } else { kind.nodes() };
    let (min, max) = (lock.nodes.min, lock.nodes.max);
    if (u16::from(min)..=u16::from(max)).contains(&seen) {
        return Ok(());
    }
    Err(SessionError::Refused(format!(
        "{} works with {min} to {max} servers, and {} gives it {seen}; choose another lock or scenario",
        lock.name, scenario.name
    )))
}

fn write(path: &Path, text: &str) -> Result<(), SessionError> {
    std::fs::write(path, text).map_err(|source| SessionError::File {
        path: path.into(),
        source,
    })
}
