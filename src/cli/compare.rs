//! `lockproof compare`: what each of two locks survives that the other does not.

use anyhow::{Context, anyhow};
use lockproof_model::check::{CheckReport, Checker, ExploreOptions};
use lockproof_model::world::catalogue::{Property, Switch};
use lockproof_report::compare::{self, Comparison};

use super::check::{Format, failure, refused, seconds_of};
use super::plan::{self, LockArgs, LockPlan};
use super::screen::{self, Screen};
use super::{Ended, Exit, Failure, signals, supervisor};

#[derive(clap::Args, Debug)]
#[command(
    after_help = "Without --assume or --all, the locks are compared without faults and under each fault switch alone.\n\nThe exit code is 0 if every set was compared, whatever came of it, and 2 if something is unknown.\n\nExamples:\n  lockproof compare setnx-expire token\n  lockproof compare token my-lock.lua --property mutual-exclusion --verbose"
)]
pub struct Args {
    #[command(flatten)]
    lock: LockArgs,
    /// The lock to compare it with: a lock file, or the name of a built-in lock
    #[arg(value_name = "OTHER")]
    other: String,
    /// Compare this property only, or those that begin with these words, such as
    /// `mutual-exclusion` (repeatable)
    #[arg(long, value_delimiter = ',')]
    property: Vec<String>,
    /// Give a set up beyond this many states: it is unknown
    #[arg(long, default_value_t = 5_000_000)]
    max_states: u64,
    /// Give up after this many seconds for each lock: what is not answered by then is unknown
    /// [default: 3600]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    timeout: Option<f64>,
    /// Show the sets of faults under which both locks fare alike, too
    #[arg(long)]
    verbose: bool,
    /// Text for people, or one JSON object and nothing else
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Runs the subcommand.
pub fn run(args: Args) -> Ended {
    signals::in_order();
    let properties = plan::properties(&args.property)?;
    if let Some(seconds) = args.timeout {
        seconds_of(seconds)?;
    }
    supervisor::confine(None)
        .context("failed to lock this process in")
        .map_err(Failure::internal)?;
    let other = LockArgs {
        lock: args.other.clone(),
        ..args.lock.clone()
    };
    // Both are read before the first is explored: a mistake is told at once.
    let should_stop = screen::should_stop();
    let plans = [args.lock.plan(&should_stop)?, other.plan(&should_stop)?];
    let screen = Screen::new(args.format == Format::Json);
    let compared = |sets: &dyn Fn(&LockPlan) -> Vec<Vec<Switch>>| {
        let first = checked(&args, &plans[0], (&properties, sets(&plans[0])), &screen)?;
        let second = checked(&args, &plans[1], (&properties, sets(&plans[1])), &screen)?;
        let found = Comparison::new([&first, &second]);
        match found.properties.is_empty() {
            true => Err(nothing_in_common(&found)),
            false => Ok(found),
        }
    };
    // What is asked does not depend on the faults: a mistake is told after the smallest set.
    if !properties.is_empty() {
        compared(&|plan| {
            plan.sets
                .iter()
                .min_by_key(|set| set.len())
                .cloned()
                .into_iter()
                .collect()
        })?;
    }
    let found = compared(&|plan| plan.sets.clone())?;
    screen.clear();
    match args.format {
        Format::Json => screen::print(serde_json::to_string(&found).map_err(Failure::internal)?)?,
        Format::Text => {
            let text = compare::text(&found, screen::page(), args.verbose);
            screen::print(text.trim_end())?;
        }
    }
    Ok(match found.not_compared {
        0 => Exit::Fine,
        _ => Exit::Unknown,
    })
}

fn nothing_in_common(found: &Comparison) -> Failure {
    let [first, second] = &found.locks;
    Failure::usage(anyhow!(
        "no property is asked of both {first} and {second}; name others with --property, or leave it out"
    ))
}

/// The verdicts of one of the two, on these properties under these sets.
fn checked(
    args: &Args,
    plan: &LockPlan,
    (named, sets): (&[Property], Vec<Vec<Switch>>),
    screen: &Screen,
) -> Result<CheckReport, Failure> {
    let timeout = match args.timeout {
        Some(seconds) => seconds_of(seconds)?,
        None => supervisor::TIME,
    };
    let _watched = supervisor::watch(timeout, &format!("the check of {}", plan.file.path));
    let explore = ExploreOptions {
        states_max: Some(args.max_states),
        ..screen::bounded()
    };
    let mut options = plan.options(plan.asked(named.to_vec()), explore);
    options.timed = true;
    screen.say(&plan.file.name);
    let mut checker = Checker::new(&plan.file, options).map_err(failure)?;
    let report = checker.check(&sets, screen).map_err(failure)?;
    refused(&report.results)?;
    Ok(report)
}
