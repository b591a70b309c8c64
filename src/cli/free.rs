//! Free runs from the command line: played, judged, drawn, told.
//!
//! `torture` and `scenario run --free` do the same work and differ in what they
//! put beside it.

use std::fs::File;
use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use lockproof_history::{self as history, JudgeOptions, Judgement, Reader, timeline};
use lockproof_input::files;
use lockproof_lab::binaries;
use lockproof_lab::nemesis::FaultSpec;
use lockproof_lab::proxy::ProxyKind;
use lockproof_lab::proxy::toxiproxy;
use lockproof_lab::topology::Attachment;
use lockproof_model::lock::LockFile;

use crate::campaign::free::{Outcome, Outcomes};
use crate::report::model::Environment;
use crate::report::run::{RunPage, Struck, run_page};
use crate::scenario::{Range, Scenario, WorkloadKind};
use crate::shell;
use crate::torture::agreement;
use crate::torture::free::{self, FreeError, FreeOptions, FreeRun, Now};
use crate::torture::setting;
use crate::torture::strikes::{self, Strike};

use super::real::Real;
use super::screen::{self, Screen};
use super::{Failure, attach, signals};

/// Violations of each oracle that a page can mark.
const EXAMPLES_DRAWN: usize = 200;
/// Where there is no terminal, progress is told this often.
const PLAIN_EVERY: Duration = Duration::from_secs(10);
/// A fault is followed by at least so much quiet in runs of several lengths, in ms.
const QUIET_MS_MIN: u32 = 500;

/// The free runs of one scenario.
pub struct Session<'a> {
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
    pub real: &'a Real,
    pub proxy: ProxyKind,
    /// Servers that are there already, in place of servers of our own.
    pub attach: Option<Attachment>,
}

/// A real toxiproxy wherever one is installed, the embedded proxy elsewhere.
pub fn proxy(real: &Real) -> Result<ProxyKind, Failure> {
    match toxiproxy::find_program(&binaries::tool_directories()) {
        Ok(program) => Ok(ProxyKind::Toxiproxy(program)),
        Err(missing) if real.proxy == "toxiproxy" => Err(Failure::usage(missing)),
        Err(_) => Ok(ProxyKind::Embedded),
    }
}

/// What stands in every link, as reports write it.
pub fn proxy_name(proxy: &ProxyKind) -> &'static str {
    match proxy {
        ProxyKind::Toxiproxy(_) => "toxiproxy",
        ProxyKind::Embedded => "embedded",
    }
}

/// For how long clients work: what was asked for, or the scenario's.
pub fn duration(asked: Option<f64>, scenario: &Scenario) -> Result<Duration, Failure> {
    let default = f64::from(scenario.run.duration_ms) / 1000.0;
    let seconds = asked.unwrap_or(default);
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|duration| (0.1..=3600.0).contains(&duration.as_secs_f64()))
        .ok_or_else(|| Failure::usage(anyhow!("--duration is 0.1 to 3600 seconds, not {seconds}")))
}

impl Session<'_> {
    /// What the runs run on. Attached servers tell their versions only when they are
    /// asked: each row has them.
    pub fn environment(&self, own: Environment) -> Environment {
        match self.attach {
            Some(_) => Environment {
                servers: Vec::new(),
                proxy: Some("toxiproxy (attached)".into()),
            },
            None => Environment {
                proxy: Some(proxy_name(&self.proxy).into()),
                ..own
            },
        }
    }

    /// Plays all runs of a lock. One that fails is the last; what was done before it
    /// is given beside the failure.
    ///
    /// # Errors
    /// If there is nothing to be played, or nowhere to write.
    pub fn play(&self, lock: &LockFile) -> Result<(Outcomes, Option<Failure>), Failure> {
        serves(self.scenario, lock)?;
        let folder = self.out.join(&lock.name);
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("failed to create {}", folder.display()))
            .map_err(Failure::internal)?;
        let mut outcomes = Outcomes {
            duration_ms: self.duration.as_millis() as u64,
            ..Outcomes::default()
        };
        let mut scenario = self.scenario.with_lock(&lock.name);
        if self.attach.is_some() {
            let kind = setting::topology_kind(&scenario, lock);
            attach::leave_out(&mut scenario, kind)?;
        }
        let mut failure = None;
        if self.pauses.is_empty() {
            (outcomes.plain, failure) = self.runs_of(&scenario, lock, None);
        }
        for (leases, pause_ms, scenario) in self.with_pauses(&scenario)? {
            let (runs, failed) = self.runs_of(&scenario, lock, Some((leases, pause_ms)));
            outcomes.sweep.push((u64::from(pause_ms), runs));
            failure = failed;
            if failure.is_some() {
                break;
            }
        }
        outcomes.failed = failure.as_ref().map(Failure::to_string);
        Ok((outcomes, failure))
    }

    /// The scenario at each pause length: in leases, in ms.
    fn with_pauses(&self, scenario: &Scenario) -> Result<Vec<(f64, u32, Scenario)>, Failure> {
        let each = self.pauses.iter().map(|leases| {
            let pause_ms = (leases * scenario.clients.ttl_ms as f64).round() as u32;
            let changed = with_pause(scenario, pause_ms, self.duration)?;
            Ok((*leases, pause_ms, changed))
        });
        each.collect()
    }

    fn runs_of(
        &self,
        scenario: &Scenario,
        lock: &LockFile,
        pause: Option<(f64, u32)>,
    ) -> (Vec<Outcome>, Option<Failure>) {
        let mut outcomes = Vec::new();
        for seed in self.seed..self.seed.saturating_add(u64::from(self.runs)) {
            // Ctrl-C ends the runs, and what was done is still judged and told.
            if signals::came() {
                break;
            }
            match self.one(scenario, lock, pause, seed) {
                Ok(Some(outcome)) => outcomes.push(outcome),
                // Ended before its clients began: there is nothing to be told.
                Ok(None) => break,
                Err(failure) => {
                    let run = format!("the run of {} with seed {seed} failed", lock.name);
                    return (outcomes, Some(failure.context(run)));
                }
            }
        }
        (outcomes, None)
    }

    fn one(
        &self,
        scenario: &Scenario,
        lock: &LockFile,
        pause: Option<(f64, u32)>,
        seed: u64,
    ) -> Result<Option<Outcome>, Failure> {
        let prefix = pause.map_or(String::new(), |(_, ms)| format!("pause-{ms}-ms-"));
        let stem = format!("{}/{prefix}seed-{seed}", lock.name);
        let file = |end: &str| self.out.join(format!("{stem}{end}"));
        let options = FreeOptions {
            scenario: scenario.clone(),
            lock: lock.clone(),
            seed,
            duration: self.duration,
            program: std::env::current_exe().map_err(Failure::internal)?,
            binary: self.real.server.clone(),
            library: self.real.gate.library.clone(),
            proxy: self.proxy.clone(),
            attach: self.attach.clone(),
            history: file(".history.jsonl"),
        };
        write(
            &file(".schedule.json"),
            &setting::schedule(&options).to_json(),
        )?;
        let pauses = pause.map_or(String::new(), |(_, ms)| format!(" pauses of {ms} ms,"));
        let title = format!("{}, {},{pauses} seed {seed}", scenario.name, lock.name);
        let Some(run) = self.watched(&title, &options)? else {
            return Ok(None);
        };
        show(&title, &run, &options)?;
        // What we recorded ourselves and cannot read is our own mistake.
        let mut judgement = judge(&options.history).map_err(Failure::internal)?;
        let planned = !scenario.nemesis.faults.is_empty();
        let strikes = strikes_of(&options.history).map_err(Failure::internal)?;
        let strikes = planned.then_some(strikes);
        let page = self.page(&options, &judgement, strikes.as_deref(), pause)?;
        write(&file(".html"), &page)?;
        // The page marks more violations than a reader of JSON wants to see.
        for finding in &mut judgement.findings {
            finding.examples.truncate(JudgeOptions::default().examples);
        }
        let text = serde_json::to_string_pretty(&judgement).map_err(Failure::internal)?;
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

    /// `None` if a signal ended it before there was a history.
    fn watched(&self, title: &str, options: &FreeOptions) -> Result<Option<FreeRun>, Failure> {
        let screen = Screen::new(false);
        let mut told = Instant::now();
        let mut watch = |now: &Now| {
            if screen.is_live() || told.elapsed() >= PLAIN_EVERY {
                told = Instant::now();
                screen.say(&progress(title, now));
            }
            match signals::came() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let run = self.real.runtime.block_on(free::run(options, &mut watch));
        screen.clear();
        match run {
            Ok(run) => Ok(Some(run)),
            Err(FreeError::Stopped) => Ok(None),
            Err(error) if error.is_refusal() => Err(Failure::usage(error)),
            Err(error) => Err(Failure::internal(error)),
        }
    }

    fn page(
        &self,
        options: &FreeOptions,
        judgement: &Judgement,
        strikes: Option<&[Strike]>,
        pause: Option<(f64, u32)>,
    ) -> Result<String, Failure> {
        let expected = options.scenario.expect.get(&options.lock.name);
        let says = |oracle: &&str| {
            let word = match agreement::predicted(expected?, oracle)? {
                true => "violated",
                false => "holds",
            };
            Some(((*oracle).to_owned(), word))
        };
        let model: Vec<_> = history::ORACLES.iter().filter_map(says).collect();
        let command = format!(
            "lockproof torture {} --lock {} --duration {} --runs 1 --seed {}{}",
            shell::word(&self.named),
            shell::word(&options.lock.path),
            self.duration.as_secs_f64(),
            options.seed,
            pause.map_or(String::new(), |(leases, _)| format!(" --pauses {leases}"))
        );
        page(
            &options.history,
            judgement,
            strikes,
            &model,
            Some(&command),
            Some("../report.html"),
        )
        .map_err(Failure::internal)
    }
}

/// Whether the scenario has as many servers as the lock works with. Where the
/// primary may change, a client sees one address.
fn serves(scenario: &Scenario, lock: &LockFile) -> Result<(), Failure> {
    let kind = setting::topology_kind(scenario, lock);
    let seen = if kind.replicates() { 1 } else { kind.nodes() };
    let (min, max) = (lock.nodes.min, lock.nodes.max);
    if (u16::from(min)..=u16::from(max)).contains(&seen) {
        return Ok(());
    }
    Err(Failure::usage(anyhow!(
        "{} works with {min} to {max} servers, and {} gives it {seen}; choose another lock or scenario",
        lock.name,
        scenario.name
    )))
}

/// The page of a judged history.
///
/// # Errors
/// The history cannot be read, or (an error of ours) the page not be rendered.
pub fn page(
    history: &Path,
    judgement: &Judgement,
    strikes: Option<&[Strike]>,
    model: &[(String, &'static str)],
    command: Option<&str>,
    report: Option<&str>,
) -> Result<String, anyhow::Error> {
    let timeline = timeline::timeline(open(history)?, judgement)
        .with_context(|| history.display().to_string())?;
    let name = history.file_name().unwrap_or_default().to_string_lossy();
    let struck: Option<Vec<Struck<'_>>> = strikes.map(|all| all.iter().map(shown).collect());
    Ok(run_page(&RunPage {
        strikes: struck.as_deref(),
        judgement,
        timeline: &timeline,
        model,
        history: &name,
        tool_version: env!("CARGO_PKG_VERSION"),
        command,
        report,
    })?)
}

fn shown(strike: &Strike) -> Struck<'_> {
    Struck {
        fault: &strike.fault,
        at: strike.at,
        struck: strike.struck,
        words: &strike.words,
    }
}

/// What became of a history's faults.
///
/// # Errors
/// The history cannot be read.
pub fn strikes_of(path: &Path) -> Result<Vec<Strike>, anyhow::Error> {
    strikes::strikes(open(path)?).with_context(|| path.display().to_string())
}

/// Judges a history with as many examples as a page can mark.
///
/// # Errors
/// The history cannot be read.
pub fn judge(path: &Path) -> Result<Judgement, anyhow::Error> {
    let options = JudgeOptions {
        examples: EXAMPLES_DRAWN,
    };
    history::judge(open(path)?, &options).with_context(|| path.display().to_string())
}

fn open(path: &Path) -> Result<Reader<BufReader<File>>, anyhow::Error> {
    let file = files::open(path).with_context(|| format!("failed to read {}", path.display()))?;
    let file = BufReader::with_capacity(1 << 16, file);
    Reader::new(file).with_context(|| path.display().to_string())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .with_context(|| format!("failed to write {}", path.display()))
        .map_err(Failure::internal)
}

/// The pause lengths, shortest first, if the scenario can be run with several.
pub(super) fn pauses(asked: &[f64], scenario: &Scenario) -> Result<Vec<f64>, Failure> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let mut pauses = asked.to_vec();
    pauses.sort_by(f64::total_cmp);
    pauses.dedup();
    if pauses.len() > 20 || !pauses.iter().all(|leases| (0.01..=50.0).contains(leases)) {
        return Err(Failure::usage(anyhow!(
            "--pauses takes up to 20 lengths of 0.01 to 50 leases, such as 0.5,1,1.5,2"
        )));
    }
    if scenario.workload.kind != WorkloadKind::GuardedSet {
        return Err(Failure::usage(anyhow!(
            "--pauses counts lost updates, which only the guarded-set workload has; {} has {}",
            scenario.name,
            scenario.workload.kind.name()
        )));
    }
    let pause = |fault: &FaultSpec| ["client-pause", "server-pause"].contains(&fault.name());
    let own = scenario
        .expect
        .values()
        .filter_map(|one| one.nemesis.as_ref());
    let mut all = own.chain([&scenario.nemesis]);
    if !all.all(|nemesis| !nemesis.faults.is_empty() && nemesis.faults.iter().all(pause)) {
        return Err(Failure::usage(anyhow!(
            "--pauses needs a scenario whose faults are client-pause or server-pause; {} has others",
            scenario.name
        )));
    }
    Ok(pauses)
}

/// The command line that repeats all, or one lock.
/// The scenario with pauses of another length. A pause and the quiet before it
/// take as long together as the scenario's do on average, so that there are as
/// many pauses at each length, while there is room for some quiet.
fn with_pause(scenario: &Scenario, pause_ms: u32, duration: Duration) -> Result<Scenario, Failure> {
    let middle = |range: Range| (range.0 + range.1) / 2;
    let nemesis = &scenario.nemesis;
    let every_ms = middle(nemesis.quiet_ms) + middle(nemesis.fault_ms);
    let quiet_ms = every_ms.saturating_sub(pause_ms).max(QUIET_MS_MIN);
    if u128::from(quiet_ms + pause_ms) >= duration.as_millis() {
        return Err(Failure::usage(anyhow!(
            "a pause of {pause_ms} ms after {quiet_ms} ms of quiet does not fit into runs of {} s; raise --duration or shorten --pauses",
            duration.as_secs_f64()
        )));
    }
    let mut changed = scenario.clone();
    changed.nemesis.quiet_ms = Range(quiet_ms, quiet_ms);
    changed.nemesis.fault_ms = Range(pause_ms, pause_ms);
    Ok(changed)
}

fn progress(title: &str, now: &Now) -> String {
    let seconds = now.elapsed.as_secs_f64();
    let rate = now.tally.operations as f64 / seconds.max(0.001);
    let faults = if now.faults.is_empty() {
        "nothing injected".to_owned()
    } else {
        now.faults.join(", ")
    };
    format!(
        "{title}: {seconds:.1} s, {rate:.0} operations/s, double holds so far: {}, {faults}",
        now.tally.double_holds
    )
}

fn show(title: &str, run: &FreeRun, options: &FreeOptions) -> Result<(), Failure> {
    screen::print(format_args!(
        "{title}: {} operations, {} acquired, {:.0} operations/s, set up in {:.2} s; {}",
        run.tally.operations,
        run.tally.acquired,
        run.tally.operations as f64 / run.seconds,
        run.setup_seconds,
        options.history.display()
    ))?;
    if let Some(keys) = &run.keys {
        screen::note(format_args!(
            "{title}: its keys on the attached servers were named {keys}..., and are deleted"
        ));
    }
    if run.cut_short {
        screen::note(format_args!(
            "{title}: cut short after {:.1} s",
            run.seconds
        ));
    }
    for warning in &run.warnings {
        screen::note(format_args!("warning: {warning}"));
    }
    Ok(())
}
