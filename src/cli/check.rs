//! `lockproof check`: the verdicts of one lock.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum;
use lockproof_campaign::shell;
use lockproof_model::check::{
    CheckReport, CheckResult, Checker, ExploreOptions, Observer, Progress, SimulateOptions, Verdict,
};
use lockproof_model::lock::LockFile;
use lockproof_model::world::catalogue::Property;
use lockproof_report::{overview, terminal};
use lockproof_trace::{self as trace, Assumption, Story, Trace, words};
use sha2::{Digest, Sha256};

use super::early::Early;
use super::plan::{self, LockArgs};
use super::screen::{self, Screen};
use super::{Ended, Exit, Failure, machine, signals, supervisor};

/// How to print results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
}

#[derive(clap::Args, Debug)]
#[command(
    after_help = "Without --assume or --all, each fault switch is tried alone, and none.\n\nExamples:\n  lockproof check redlock --nodes 5 --assume node-restart-none\n  lockproof check my-lock.lua --property mutual-exclusion-validity --format json"
)]
pub struct Args {
    #[command(flatten)]
    lock: LockArgs,
    /// Answer for this property only, or for those that begin with these words, such as
    /// `mutual-exclusion` (repeatable)
    #[arg(long, value_delimiter = ',')]
    property: Vec<String>,
    /// Give up beyond this many states in one exploration
    #[arg(long, default_value_t = 50_000_000)]
    max_states: u64,
    /// Give up after this many seconds; what is not answered then is unknown [default: 3600]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    timeout: Option<f64>,
    /// Follow this many seeded random runs instead of exploring: for worlds that are too large
    #[arg(long, value_name = "RUNS", value_parser = clap::value_parser!(u64).range(1..))]
    simulate: Option<u64>,
    /// Moves of each random run at most
    #[arg(
        long,
        value_name = "MOVES",
        default_value_t = 1000,
        requires = "simulate"
    )]
    moves: u32,
    /// Threads, at most 64; 0 is one for each core
    #[arg(long, default_value_t = 0, value_parser = workers)]
    workers: usize,
    /// Text for people, or one JSON object and nothing else
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Print the table of every property and set as well
    #[arg(short, long)]
    verbose: bool,
    /// Write the traces of violations into this folder (JSON holds them itself)
    #[arg(long, value_name = "DIR", default_value = "traces")]
    traces: PathBuf,
    /// Write traces in the ITF format as well
    #[arg(long)]
    itf: bool,
}

/// Runs the subcommand.
pub fn run(args: Args) -> Ended {
    signals::in_order();
    let properties = plan::properties(&args.property)?;
    let timeout = match args.timeout {
        Some(seconds) => seconds_of(seconds)?,
        None => supervisor::TIME,
    };
    supervisor::confine(Some(&args.traces))
        .context("failed to lock this process in")
        .map_err(Failure::internal)?;
    let _watched = supervisor::watch(timeout, &format!("the check of {}", args.lock.lock));
    let should_stop = screen::should_stop();
    let plan = args.lock.plan(&should_stop)?;
    let properties = plan.asked(properties);
    let explore = ExploreOptions {
        workers: args.workers,
        states_max: Some(args.max_states),
        ..screen::bounded()
    };
    let screen = Screen::new(args.format == Format::Json);
    let sets = words::plural(plan.sets.len() as u32, "set");
    screen.say(&format!(
        "checking {} under {sets} of faults",
        plan.file.name
    ));
    let early = Early::new(&properties);
    let mut options = plan.options(properties, explore);
    options.timed = true;
    let mut checker = Checker::new(&plan.file, options).map_err(failure)?;
    answered(&checker, &plan.file)?;
    if let Some(walks) = args.simulate {
        screen::note(format_args!(
            "following {walks} random runs, seed {}",
            plan.seed
        ));
        checker.simulate(SimulateOptions {
            walks,
            steps_max: args.moves,
            should_stop,
            ..SimulateOptions::new(plan.seed)
        });
    }
    let lines = Lines {
        screen: &screen,
        ttl_ticks: plan.sizes.ttl_ticks.into(),
        text: args.format == Format::Text,
        early: RefCell::new(early),
        failed: RefCell::new(None),
    };
    let report = checker.check(&plan.sets, &lines).map_err(failure)?;
    screen.clear();
    if let Some(failed) = lines.failed.into_inner() {
        return Err(failed);
    }
    match args.format {
        Format::Json => print_json(&report)?,
        Format::Text => print_text(&report, &args)?,
    }
    refused(&report.results)?;
    Ok(exit_of(&report.results))
}

/// Prints each set's answer as soon as it is there.
struct Lines<'s> {
    screen: &'s Screen,
    ttl_ticks: u32,
    text: bool,
    early: RefCell<Early>,
    failed: RefCell<Option<Failure>>,
}

impl Observer for Lines<'_> {
    fn seconds(&self) -> f64 {
        self.screen.seconds()
    }

    fn begins(&self, assumptions: &[Assumption]) {
        self.screen.begins(assumptions);
        let early = self.early.borrow().of(&screen::set_name(assumptions));
        self.early.replace(early);
    }

    fn answered(&self, results: &[CheckResult]) {
        if self.text && !results.is_empty() {
            let line = overview::check_line(results, self.ttl_ticks, screen::page());
            if let Err(failed) = self.screen.print(line) {
                self.failed.borrow_mut().get_or_insert(failed);
            }
        }
    }

    fn warns(&self, warning: &str) {
        if self.text {
            self.screen
                .line(&format!("warning: {}", words::printable(warning)));
        }
    }

    fn shares(&self, sets: usize) {
        self.screen.shares(sets);
    }

    fn progress(&self) -> Box<dyn Fn(Progress) + Send + Sync> {
        let shown = self.screen.progress();
        if !self.text {
            return shown;
        }
        let (early, say) = (self.early.borrow().clone(), self.screen.liner());
        Box::new(move |progress| {
            shown(progress);
            if let Some(line) = early.line(&progress) {
                say(&line);
            }
        })
    }
}

/// What is unknown because the machine refused a thread is no answer about the lock.
pub fn refused(results: &[CheckResult]) -> Result<(), Failure> {
    let mut reasons = results.iter().filter_map(|result| result.reason.as_ref());
    match reasons.find(|reason| machine::refusal(reason).is_some()) {
        Some(reason) => Err(Failure::internal(anyhow::anyhow!("{reason}"))),
        None => Ok(()),
    }
}

/// More threads than this never helped, and each pair of them has a queue: at
/// thousands the machine has no memory left.
const WORKERS_MAX: usize = 64;

pub fn workers(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(workers) if workers <= WORKERS_MAX => Ok(workers),
        _ => Err(format!("the number must be from 0 to {WORKERS_MAX}")),
    }
}

pub fn seconds_of(seconds: f64) -> Result<Duration, Failure> {
    Duration::try_from_secs_f64(seconds)
        .context("--timeout must be a number of seconds, 0 or more")
        .map_err(Failure::usage)
}

/// A check's error: what the user's file or sizes caused is a usage error.
pub fn failure(error: lockproof_model::check::CheckError) -> Failure {
    use lockproof_model::check::CheckError;
    match error {
        CheckError::Concrete(_) | CheckError::Engine(_) => Failure::internal(error),
        _ => Failure::usage(error),
    }
}

/// Worst wins: a violation, then the unknown.
pub fn exit_of(results: &[CheckResult]) -> Exit {
    match results.iter().map(|result| result.verdict).max() {
        Some(Verdict::Violated) => Exit::Violation,
        Some(Verdict::Unknown) => Exit::Unknown,
        Some(Verdict::Holds) => Exit::Fine,
        None => Exit::Nothing,
    }
}

fn print_json(report: &CheckReport) -> Result<(), Failure> {
    let text = serde_json::to_string(report).map_err(Failure::internal)?;
    screen::print(text)
}

fn print_text(report: &CheckReport, args: &Args) -> Result<(), Failure> {
    if args.verbose {
        let table = terminal::check_table(report, screen::width());
        screen::print(format_args!("\n{table}"))?;
    }
    let named = !args.property.is_empty();
    let summary = overview::check_summary(report, named, screen::page());
    screen::print(format_args!("\n{summary}"))?;
    let traces = || report.results.iter().filter_map(|one| one.trace.as_ref());
    // Told before it is written: a folder that cannot be written must not cost the answer.
    if let Some(trace) = overview::worst(&report.results).and_then(|worst| worst.trace.as_ref()) {
        tell(
            trace,
            &trace_path(&args.traces, trace),
            report.never_acquires(),
        )?;
    }
    for trace in traces() {
        write_trace(&args.traces, trace, args.itf)?;
    }
    match traces().count() {
        0 => Ok(()),
        written => screen::print(format_args!(
            "{} in {}",
            words::plural(written as u32, "trace"),
            args.traces.display()
        )),
    }
}

/// The properties that a check answers for.
pub fn answered(checker: &Checker, file: &LockFile) -> Result<Vec<Property>, Failure> {
    let properties = checker.applicable();
    match properties.is_empty() {
        true => Err(Failure::usage(anyhow::anyhow!(
            "none of the properties that were named is asked of {}; name others with --property, or leave it out",
            file.name
        ))),
        false => Ok(properties),
    }
}

/// A violation as a story, why locks come to it, and what helps; of a lock that is `never` acquired,
/// that alone is why.
fn tell(trace: &Trace, path: &Path, never: bool) -> Result<(), Failure> {
    let replay = format!("lockproof replay {}", shell::word(&path.to_string_lossy()));
    let property = trace.property.as_deref().and_then(Property::parse);
    let options = Story {
        colour: true,
        meaning: property.map(|property| property.info().meaning),
        replay: Some(&replay),
        width: screen::page(),
        ..Story::default()
    };
    screen::print(trace::story(trace, &options).trim_end())?;
    if never {
        let why = "Why: No acquire succeeds, whatever happens: look at what the commands reply, and at what the file \
                   makes of it.";
        screen::print(terminal::paragraph(why, options.width))?;
    } else if let Some(property) = property {
        let (_, kind) = property.consequence();
        let help = format!("What helps: {} ({})", kind.remedy, kind.source);
        for text in [format!("Why: {}", kind.cause), help] {
            screen::print(terminal::paragraph(&text, options.width))?;
        }
    }
    Ok(())
}

/// Writes a trace under a name that says what it violates and when.
pub fn write_trace(folder: &Path, trace: &Trace, itf: bool) -> Result<PathBuf, Failure> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("failed to create the folder {}", folder.display()))
        .map_err(Failure::internal)?;
    let path = trace_path(folder, trace);
    trace::write(&path, trace).map_err(Failure::internal)?;
    if itf {
        let path = path.with_extension("itf.json");
        trace::write_itf(&path, trace).map_err(Failure::internal)?;
    }
    Ok(path)
}

fn trace_path(folder: &Path, trace: &Trace) -> PathBuf {
    folder.join(format!("{}.json", trace_name(trace)))
}

/// `token.mutual-exclusion-belief.client-pause`, or `.walk-7` for a walk. Where that is too long
/// the set is a number of faults and the lock's name is cut; digits tell it from others then.
pub fn trace_name(trace: &Trace) -> String {
    let what = match (&trace.property, trace.seed) {
        (Some(property), _) => property.clone(),
        (None, Some(seed)) => format!("walk-{seed}"),
        (None, None) => "run".into(),
    };
    let set: Vec<&str> = trace
        .assumptions
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    let set = match set.as_slice() {
        [] => "none".into(),
        names => names.join("+"),
    };
    let name = format!("{}.{what}.{set}", trace.lock.name);
    if name.len() <= TRACE_NAME_BYTES {
        return name;
    }
    let digest = Sha256::digest(name.as_bytes());
    let digest = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
    let set = match trace.assumptions.len() {
        0 | 1 => set,
        faults => format!("{faults}-faults"),
    };
    let rest = format!(".{what}.{set}-{digest:08x}");
    let room = TRACE_NAME_BYTES.saturating_sub(rest.len());
    let lock = &trace.lock.name[..trace.lock.name.floor_char_boundary(room)];
    format!("{lock}{rest}")
}

/// The longest name of a trace without its ending, which is `.json` or `.itf.json`: a path in a folder
/// still fits a line.
const TRACE_NAME_BYTES: usize = 90;
