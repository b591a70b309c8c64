//! `lockproof torture`: free runs of a scenario, judged and drawn.

use std::path::PathBuf;

use lockproof_campaign::pauses;
use lockproof_campaign::rows::{self, Outcomes};
use lockproof_campaign::session::Session;
use lockproof_campaign::shell;
use lockproof_lab::own_network;
use lockproof_report::model::Report;
use lockproof_report::scenario::{FreeAgreement, FreeRun, ScenarioRow};
use lockproof_report::{self as report, terminal};

use super::attach::AttachArgs;
use super::folder::OwnFolder;
use super::free::{self, Viewer};
use super::real::RealArgs;
use super::run::heading;
use super::screen;
use super::{Ended, Exit, Failure, ci, plan, signals};

#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  lockproof torture gc-pause --lock token --runs 5\n  lockproof torture my-scenario.toml --duration 30 --seed 7\n  lockproof torture gc-pause --lock token --pauses 0.5,1,1.5,2 --duration 30\n\nDIR/SCENARIO/report.html is the report; each run has a page beside its history. `lockproof scenario run SCENARIO --free` explores the model and replays as well."
)]
pub struct Args {
    /// A scenario file, or the name of a built-in scenario
    scenario: String,
    /// Only this lock (a name or a file) [default: every lock that the scenario expects something of]
    #[arg(long)]
    lock: Option<String>,
    /// Seed of the first run; the others count on [default: the scenario's]
    #[arg(long)]
    seed: Option<u64>,
    /// Seconds for which clients work [default: the scenario's]
    #[arg(long, value_name = "SECONDS")]
    duration: Option<f64>,
    /// Runs of each lock [default: the scenario's]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: Option<u32>,
    /// Lost updates against pause length: runs with pauses of these lengths, in leases
    #[arg(long, value_name = "LEASES", value_delimiter = ',', num_args = 1..)]
    pauses: Vec<f64>,
    /// Where reports, histories and schedules go, a folder for each scenario
    #[arg(long, value_name = "DIR", default_value = "runs")]
    out: PathBuf,
    /// Run in a network namespace of its own, as root: partitions with
    /// bytes = "dropped" need it
    #[arg(long, conflicts_with = "attach")]
    own_network: bool,
    #[command(flatten)]
    attach: AttachArgs,
    #[command(flatten)]
    real: RealArgs,
}

/// Runs the subcommand.
pub fn run(args: Args) -> Ended {
    if args.own_network {
        // Before there is any other thread.
        own_network::enter().map_err(Failure::usage)?;
    }
    let scenario = plan::scenario(&args.scenario)?;
    let duration = free::duration(args.duration, &scenario)?;
    let pauses = pauses::lengths(&args.pauses, &scenario).map_err(free::failure)?;
    let names: Vec<String> = match &args.lock {
        Some(lock) => vec![lock.clone()],
        None => scenario.expect.keys().cloned().collect(),
    };
    // All are read before the first runs: a mistake is told at once.
    let locks = names
        .iter()
        .map(|name| plan::load(scenario.lock_file(name)))
        .collect::<Result<Vec<_>, _>>()?;
    let real = args.real.find()?;
    signals::in_order();
    let _own = OwnFolder::take(&args.out.join(&scenario.name))?;
    let session = Session {
        scenario: &scenario,
        named: args.scenario.clone(),
        duration,
        runs: args.runs.unwrap_or(scenario.run.runs),
        seed: args.seed.unwrap_or(scenario.run.seed),
        pauses,
        out: args.out.join(&scenario.name),
        ground: free::ground(&real, args.attach.find()?)?,
        runtime: &real.runtime,
        audience: &Viewer,
    };
    let text = toml::to_string(&scenario).map_err(Failure::internal)?;
    let mut report = heading(command(&args, &session, None), session.seed, &text, &real);
    report.environment = session.environment(report.environment);
    let mut exit = Exit::Nothing;
    for (name, lock) in names.iter().zip(&locks) {
        if signals::came() {
            break;
        }
        let (outcomes, failed) = session.play(lock).map_err(free::failure)?;
        let command = command(&args, &session, Some(name));
        let row = rows::row(&scenario, &lock.name, None, &outcomes, command);
        exit = exit.and(conclude(&row, &outcomes)?);
        report.scenarios.push(row);
        publish(&session.out, &report)?;
        if let Some(failed) = failed {
            return Err(free::failure(failed));
        }
    }
    ci::summary(&report)?;
    if !report.scenarios.is_empty() {
        let table = report::stories(&report.scenarios, screen::width());
        screen::print(format_args!("\n{table}"))?;
    }
    let page = session.out.join("report.html");
    screen::print(format_args!("The report: {}", page.display()))?;
    Ok(exit)
}

/// After each lock, so that a run that is stopped leaves a report of what it did.
fn publish(out: &std::path::Path, report: &Report) -> Result<(), Failure> {
    report::write_all(out, report).map_err(Failure::internal)?;
    Ok(())
}

fn command(args: &Args, session: &Session<'_>, lock: Option<&str>) -> String {
    let mut command = format!("lockproof torture {}", shell::word(&args.scenario));
    if let Some(lock) = lock.or(args.lock.as_deref()) {
        command += &format!(" --lock {}", shell::word(lock));
    }
    command += &format!(
        " --duration {} --runs {} --seed {}",
        session.duration.as_secs_f64(),
        session.runs,
        session.seed
    );
    command += &args.attach.words();
    if args.own_network {
        command += " --own-network";
    }
    if !session.pauses.is_empty() {
        let pauses: Vec<String> = session.pauses.iter().map(f64::to_string).collect();
        command += &format!(" --pauses {}", pauses.join(","));
    }
    command
}

/// Tells a lock's row and what it means for the exit code.
pub(super) fn conclude(row: &ScenarioRow, outcomes: &Outcomes) -> Ended {
    let text = terminal::free_runs(row);
    screen::print(text.trim_end())?;
    for note in &row.notes {
        screen::note(note);
    }
    if row.model.is_none() {
        // Nobody expects anything: a violation is one.
        let swept = outcomes.sweep.iter().flat_map(|(_, runs)| runs);
        let mut all = outcomes.plain.iter().chain(swept);
        let observed = |one: &rows::Outcome| one.judgement.verdict();
        let violated = lockproof_history::FindingVerdict::Violated;
        if all.any(|one| observed(one) == violated) {
            return Ok(Exit::Violation);
        }
        let runs = row.free.iter().flat_map(|free| &free.runs);
        let void = runs.clone().count() > 0 && runs.clone().all(FreeRun::is_no_evidence);
        return Ok(if void { Exit::Unknown } else { Exit::Fine });
    }
    Ok(match (row.is_bad(), row.agreement) {
        (true, _) => Exit::Violation,
        (false, FreeAgreement::Unknown | FreeAgreement::NoEvidence) => Exit::Unknown,
        (false, _) => Exit::Fine,
    })
}
