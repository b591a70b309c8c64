//! `lockproof run`: the main job. Check, replay, report, compare.

use std::any::Any;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use lockproof_campaign::config::{self, Config};
use lockproof_campaign::shell;
use lockproof_campaign::{Campaign, CampaignError, NOT_RUN, Stage};
use lockproof_input::files;
use lockproof_lab::binaries::{self, Binary};
use lockproof_model::check::{Observer, Progress};
use lockproof_model::lock::LockFile;
use lockproof_replay::GateOptions;
use lockproof_report::baseline::{Baseline, Difference};
use lockproof_report::model::{Cell, Environment, Partition, Replay, Report, SCHEMA, Server};
use lockproof_report::{self as report, overview, terminal};
use lockproof_trace::{self as trace, Assumption};

use super::folder::OwnFolder;
use super::real::RealArgs;
use super::screen::{self, Screen};
use super::store::Store;
use super::{Ended, Exit, Failure, ci, plan, signals, supervisor};

/// The baseline that CI compares with.
pub(super) const BASELINE: &str = "reports/baseline.toml";

#[derive(clap::Args, Debug)]
#[command(
    after_help = "Without a file it runs the built-in matrix: all built-in locks under single faults.\n\nExamples:\n  lockproof run\n  lockproof run --baseline\n  lockproof run --frontier --resume\n  lockproof run --full\n  lockproof run my-matrix.toml --out my-report"
)]
pub struct Args {
    /// What to cover
    file: Option<PathBuf>,
    /// The large matrix that is built in: every lock under every single fault, pairs of faults, and
    /// more clients and servers. It takes hours; what is finished is kept, and a run that was ended
    /// goes on there
    #[arg(long, conflicts_with = "file")]
    full: bool,
    /// Keep each finished world in the report's folder, and take from there what an earlier run of
    /// this very program has answered (--full does so by itself)
    #[arg(long)]
    resume: bool,
    /// Also check sets of at most so many faults, as far as they tell what breaks each lock and
    /// under what it is safe
    #[arg(long, value_name = "FAULTS", num_args = 0..=1, default_missing_value = "2", value_parser = clap::value_parser!(u32).range(2..=6), conflicts_with_all = ["baseline", "write_baseline", "partition"])]
    frontier: Option<u32>,
    /// Replay on every server program that `lockproof doctor` shows, one after the other, and say
    /// of each cell on which it was reproduced
    #[arg(long)]
    every_server: bool,
    /// Where the report goes [default: reports/latest, and reports/full with --full]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Compare with a baseline and fail on any difference [default: reports/baseline.toml]
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = BASELINE)]
    baseline: Option<PathBuf>,
    /// Write the verdicts as a new baseline
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = BASELINE, conflicts_with = "baseline")]
    write_baseline: Option<PathBuf>,
    /// Only one part of the worlds: `2/4` is the second of four jobs; join them with
    /// `lockproof report merge`
    #[arg(long, value_name = "K/N", conflicts_with = "write_baseline")]
    partition: Option<Partition>,
    /// Replays of each counterexample, in place of what the file says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    replays: Option<u32>,
    /// Random walks for each world, in place of what the file says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    walks: Option<u32>,
    /// Also print the table of each lock, property by property, and what breaks it
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    real: RealArgs,
}

/// What `conclude` is to show and to write.
pub(super) struct Ending<'a> {
    pub baseline: Option<&'a Baseline>,
    pub write_baseline: Option<&'a Path>,
    /// The table of each lock too.
    pub verbose: bool,
}

/// Runs the subcommand.
pub fn run(args: Args) -> Ended {
    let (text, config) = configured(&args)?;
    let baseline = read_baseline(args.baseline.as_deref())?;
    let real = args.real.find()?;
    signals::in_order();
    let out = args.out.clone().unwrap_or_else(|| {
        PathBuf::from(match args.full {
            true => "reports/full",
            false => "reports/latest",
        })
    });
    let _own = OwnFolder::take(&out)?;
    let mut stage = Terminal::new(out.clone());
    if args.full || args.resume {
        stage.store = Some(Store::open(&out)?);
    }
    let report = ran(&args, &text, config, real, &stage)?;
    stage.screen.clear();
    if let Some(store) = &stage.store {
        screen::note(store.summary());
    }
    if signals::came() {
        // What was not come to is no difference, and no baseline.
        return interrupted(&out, &report, args.verbose);
    }
    let mut report = report;
    if let Some(baseline) = &baseline {
        baseline.apply(&mut report);
    }
    publish(&out, &report)?;
    let ending = Ending {
        baseline: baseline.as_ref(),
        write_baseline: args.write_baseline.as_deref(),
        verbose: args.verbose || args.frontier.is_some(),
    };
    conclude(&out, &report, ending)
}

/// The run file's text, and what it says together with the command line.
fn configured(args: &Args) -> Result<(String, Config), Failure> {
    let text = match &args.file {
        Some(path) => read(path)?,
        None if args.full => config::FULL.to_owned(),
        None => config::DEFAULT.to_owned(),
    };
    let mut config = Config::parse(&text).map_err(Failure::usage)?;
    config.replays = args.replays.unwrap_or(config.replays);
    config.walks = args.walks.unwrap_or(config.walks);
    config.frontier = args.frontier;
    Ok((text, config))
}

/// Checks and replays all of it.
fn ran(
    args: &Args,
    text: &str,
    config: Config,
    real: super::real::Real,
    stage: &Terminal,
) -> Result<Report, Failure> {
    let mut heading = Report {
        partition: args.partition,
        ..heading(command(args), config.seed, text, &real)
    };
    let further = match args.every_server {
        true => other_servers(&real),
        false => Vec::new(),
    };
    let mut servers = further_servers(&config, &real);
    servers.extend(further.iter().map(|gate| named(&gate.server)));
    for server in servers {
        if !heading.environment.servers.contains(&server) {
            heading.environment.servers.push(server);
        }
    }
    let mut campaign = Campaign::new(
        config,
        stage,
        (real.runtime, real.gate),
        screen::bounded(),
        Arc::new(signals::came),
        heading,
    );
    for gate in further {
        campaign.also_on(gate);
    }
    campaign.run().map_err(failure)
}

/// The report of a run that a signal ended.
fn interrupted(out: &Path, report: &Report, verbose: bool) -> Ended {
    publish(out, report)?;
    let missing = report.cells.iter();
    let missing = missing.filter(|cell| cell.reason.as_deref() == Some(NOT_RUN));
    screen::note(format_args!(
        "interrupted: {} of {} cells were not run, and no baseline was looked at",
        missing.count(),
        report.cells.len()
    ));
    let ending = Ending {
        baseline: None,
        write_baseline: None,
        verbose,
    };
    conclude(out, report, ending)
}

pub(super) fn read_baseline(path: Option<&Path>) -> Result<Option<Baseline>, Failure> {
    match path {
        Some(path) => Ok(Some(Baseline::parse(&read(path)?).map_err(Failure::usage)?)),
        None => Ok(None),
    }
}

/// More bytes than this are read of no report, matrix or baseline. The report of the published
/// matrix has a quarter of it.
const READ_MAX: u64 = 64 << 20;

pub(super) fn read(path: &Path) -> Result<String, Failure> {
    files::text(path, READ_MAX)
        .with_context(|| format!("failed to read {}", path.display()))
        .map_err(Failure::usage)
}

/// The whole run, also for a part of it.
fn command(args: &Args) -> String {
    let mut command = String::from("lockproof run");
    if let Some(path) = &args.file {
        command += &format!(" {}", shell::word(&path.to_string_lossy()));
    }
    for (option, given) in [("full", args.full), ("every-server", args.every_server)] {
        if given {
            command += &format!(" --{option}");
        }
    }
    if let Some(most) = args.frontier {
        command += &format!(" --frontier {most}");
    }
    for (option, value) in [("replays", args.replays), ("walks", args.walks)] {
        if let Some(value) = value {
            command += &format!(" --{option} {value}");
        }
    }
    command
}

/// The servers that single locks ask for, beside the one that the others run on.
fn further_servers(config: &Config, real: &super::real::Real) -> Vec<Server> {
    let locks = config.group.iter().flat_map(|group| &group.locks);
    // What is wrong with a lock file is told when its turn comes.
    let files = locks.filter_map(|name| super::plan::load(name).ok());
    let kinds: BTreeSet<&str> = files.filter_map(|file| file.server.name()).collect();
    let found = kinds.into_iter().filter_map(|kind| {
        let found = binaries::of_kind(&real.server, Some(kind)).ok()?;
        (found != real.server).then(|| named(&found))
    });
    found.collect()
}

/// Gates with the other server programs of this machine.
fn other_servers(real: &super::real::Real) -> Vec<GateOptions> {
    let all = binaries::find(&binaries::server_directories()).into_iter();
    let same =
        |other: &Binary| (&other.name, other.version) == (&real.server.name, real.server.version);
    let others = all.filter(|server| !same(server));
    others
        .map(|server| GateOptions {
            server,
            ..real.gate.clone()
        })
        .collect()
}

fn named(server: &Binary) -> Server {
    Server {
        name: server.name.clone(),
        version: server.version.to_string(),
    }
}

/// A report without cells: versions, seed and the command that repeats it.
pub(super) fn heading(command: String, seed: u64, text: &str, real: &super::real::Real) -> Report {
    Report {
        schema: SCHEMA.into(),
        tool_version: env!("CARGO_PKG_VERSION").into(),
        environment: Environment {
            servers: vec![named(&real.server)],
            proxy: Some(real.gate.proxy.name().into()),
        },
        seed,
        command,
        config: text.to_owned(),
        partition: None,
        properties: Default::default(),
        assumptions: Default::default(),
        locks: Vec::new(),
        cells: Vec::new(),
        counterexamples: Vec::new(),
        scenarios: Vec::new(),
    }
}

/// The file of a counterexample in the report's folder.
pub(super) fn trace_path(out: &Path, id: &str) -> PathBuf {
    out.join("traces").join(format!("{id}.json"))
}

/// The report and every counterexample, each a file of its own.
pub(super) fn publish(out: &Path, report: &Report) -> Result<(), Failure> {
    let folder = out.join("traces");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("failed to create {}", folder.display()))
        .map_err(Failure::internal)?;
    for counterexample in &report.counterexamples {
        let path = trace_path(out, &counterexample.id);
        trace::write(&path, &counterexample.trace).map_err(Failure::internal)?;
    }
    report::write_all(out, report).map_err(Failure::internal)?;
    Ok(())
}

/// Shows a written report, compares it and gives the exit code.
pub(super) fn conclude(out: &Path, report: &Report, ending: Ending<'_>) -> Ended {
    let Ending {
        baseline,
        write_baseline,
        verbose,
    } = ending;
    if verbose {
        screen::print(terminal::matrix_within(report, screen::width()))?;
    }
    screen::print(terminal::summary_within(report, screen::width()))?;
    screen::print(format_args!(
        "The report: {}",
        out.join("report.html").display()
    ))?;
    if let Some(path) = write_baseline {
        std::fs::write(path, Baseline::of(report).render())
            .with_context(|| format!("failed to write {}", path.display()))
            .map_err(Failure::internal)?;
        screen::print(format_args!("The baseline: {}", path.display()))?;
    }
    if baseline.is_some() {
        ci::annotate(report)?;
    }
    ci::summary(report)?;
    if report.cells.is_empty() && report.scenarios.is_empty() {
        return Ok(Exit::Nothing);
    }
    if let Some(row) = report.scenarios.iter().find(|row| row.is_bad()) {
        screen::note(format_args!(
            "not as expected: {} in {}: see the report",
            row.lock, row.scenario
        ));
        return Ok(Exit::Violation);
    }
    if report.totals().contradicted > 0 || diverged(report) {
        screen::note("the real side contradicts the model: see the report");
        return Ok(Exit::Violation);
    }
    let differences = differences(report, baseline);
    for difference in &differences {
        screen::note(format_args!("not as in the baseline: {difference}"));
    }
    Ok(if differences.is_empty() {
        Exit::Fine
    } else {
        Exit::Violation
    })
}

/// What a part does not have, another part has; the merged report is held to all.
fn differences(report: &Report, baseline: Option<&Baseline>) -> Vec<Difference> {
    let mut differences = baseline
        .map(|baseline| baseline.compare(report))
        .unwrap_or_default();
    if report.partition.is_some() {
        differences.retain(|one| !matches!(one, Difference::Missing { .. }));
    }
    differences
}

/// Some walk or replay went another way than the model says.
pub(super) fn diverged(report: &Report) -> bool {
    report
        .counterexamples
        .iter()
        .any(|one| matches!(one.replay, Some(Replay::Diverged { .. })))
}

pub(super) fn failure(error: CampaignError) -> Failure {
    match error {
        CampaignError::Check(error) => super::check::failure(error),
        CampaignError::Config(_) | CampaignError::Load(_) => Failure::usage(error),
        CampaignError::Harness { .. } | CampaignError::Thread(_) => Failure::internal(error),
    }
}

/// The terminal as a run's stage.
pub(super) struct Terminal {
    pub screen: Screen,
    pub out: PathBuf,
    /// Where finished worlds are kept.
    pub store: Option<Store>,
    /// Seconds after which the last lock was finished.
    finished: Mutex<f64>,
}

impl Terminal {
    /// A stage that keeps nothing; its report goes into `out`.
    pub fn new(out: PathBuf) -> Terminal {
        Terminal {
            screen: Screen::new(false),
            out,
            store: None,
            finished: Mutex::new(0.0),
        }
    }
}

impl Observer for Terminal {
    fn seconds(&self) -> f64 {
        self.screen.seconds()
    }

    fn begins(&self, _assumptions: &[Assumption]) {}

    fn progress(&self) -> Box<dyn Fn(Progress) + Send + Sync> {
        self.screen.progress()
    }
}

impl Stage for Terminal {
    fn load(&self, name: &str) -> Result<LockFile, CampaignError> {
        plan::load(name).map_err(|failure| CampaignError::Load(failure.to_string()))
    }

    fn say(&self, text: &str) {
        self.screen.show(text);
    }

    fn finished(&self, cells: &[Cell]) {
        let now = self.screen.seconds();
        let mut last = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        let seconds = now - std::mem::replace(&mut *last, now);
        self.screen.line(&overview::line(cells, seconds));
    }

    fn bound(&self, what: &str) -> Box<dyn Any> {
        Box::new(supervisor::watch(supervisor::TIME, what))
    }

    fn within(&self, seconds: u64) {
        supervisor::within(Duration::from_secs(seconds));
    }

    fn build(&self) -> Option<String> {
        self.store.as_ref().map(|store| store.build.clone())
    }

    fn recall(&self, question: &str) -> Option<String> {
        self.store.as_ref()?.recall(question)
    }

    fn keep(&self, question: &str, answer: &str) {
        if let Some(store) = &self.store {
            store.keep(question, answer);
        }
    }

    fn warn(&self, text: &str) {
        screen::note(format_args!("warning: {text}"));
    }

    fn trace_path(&self, id: &str) -> String {
        trace_path(&self.out, id).display().to_string()
    }
}
