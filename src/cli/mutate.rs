//! `lockproof mutate`: which small changes of a lock no property notices.

use anyhow::Context;
use lockproof_campaign::mutation::{self, Findings, Plan, Watch};
use lockproof_model::check::{Checker, ExploreOptions};

use super::check::{Format, answered, failure, seconds_of, workers};
use super::plan::{self, LockArgs};
use super::screen::{self, Screen};
use super::{Ended, Exit, Failure, signals, supervisor};

#[derive(clap::Args, Debug)]
#[command(
    after_help = "Without --assume or --all, mutants are compared without faults and under each fault switch alone.\n\nExamples:\n  lockproof mutate my-lock.lua\n  lockproof mutate token --assume client-crash --property no-orphan,lease"
)]
pub struct Args {
    #[command(flatten)]
    lock: LockArgs,
    /// Compare the verdicts on this property only, or on those that begin with these words, such as
    /// `mutual-exclusion` (repeatable)
    #[arg(long, value_delimiter = ',')]
    property: Vec<String>,
    /// Give up beyond this many states in one exploration
    #[arg(long, default_value_t = 200_000)]
    max_states: u64,
    /// Give up after this many seconds: of mutants that are left nothing is known
    /// [default: 3600]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    timeout: Option<f64>,
    /// Mutants that are checked at one time, at most 64; 0 is one for each core
    #[arg(long, default_value_t = 0, value_parser = workers)]
    workers: usize,
    /// Text for people, or one JSON object with every mutant
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Tells how many mutants are done.
struct Told<'s>(&'s Screen);

impl Watch for Told<'_> {
    fn begins(&self) {
        supervisor::begin_part();
    }

    fn done(&self, done: usize, of: usize) {
        // A log needs no line for each.
        if self.0.is_live() || done.is_multiple_of(LOG_EVERY) || done == of {
            self.0.say(&format!("{done} of {of} mutants"));
        }
    }
}

/// Mutants between two lines of a log.
const LOG_EVERY: usize = 25;

/// Runs the subcommand.
pub fn run(args: Args) -> Ended {
    signals::in_order();
    let properties = plan::properties(&args.property)?;
    let timeout = match args.timeout {
        Some(seconds) => seconds_of(seconds)?,
        None => supervisor::TIME,
    };
    supervisor::confine(None)
        .context("failed to lock this process in")
        .map_err(Failure::internal)?;
    let _watched = supervisor::watch(timeout, &format!("the mutants of {}", args.lock.lock));
    let plan = args.lock.plan(&screen::should_stop())?;
    let properties = plan.asked(properties);
    let threads = match args.workers {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        workers => workers,
    };
    let explore = ExploreOptions {
        workers: threads,
        states_max: Some(args.max_states),
        ..screen::bounded()
    };
    let options = plan.options(properties, explore);
    let checker = Checker::new(&plan.file, options.clone()).map_err(failure)?;
    answered(&checker, &plan.file)?;
    let screen = Screen::new(args.format == Format::Json);
    screen.say(&format!("{}: the lock itself", plan.file.name));
    let findings = mutation::mutate(
        &Plan {
            file: &plan.file,
            options,
            sets: plan.sets.clone(),
            threads,
        },
        &Told(&screen),
    );
    screen.clear();
    let findings = findings.map_err(failure)?;
    match args.format {
        Format::Json => {
            screen::print(serde_json::to_string(&findings).map_err(Failure::internal)?)?;
        }
        Format::Text => screen::print(mutation::text(&findings).trim_end())?,
    }
    exit_of(&findings)
}

/// Questions are no violations; what nobody could answer is unknown.
fn exit_of(findings: &Findings) -> Ended {
    let summary = &findings.summary;
    let holds: usize = findings.sets.iter().map(|row| row.holds).sum();
    if summary.mutants == 0 || holds == 0 {
        return Ok(Exit::Nothing);
    }
    Ok(match summary.out_of_bounds + summary.unknown {
        0 => Exit::Fine,
        _ => Exit::Unknown,
    })
}
