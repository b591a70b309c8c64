//! `lockproof scenario`: scenario files, listed, checked and played.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use clap::Subcommand;
use comfy_table::{Table, presets};
use lockproof_campaign::Campaign;
use lockproof_campaign::directed::{self, Depth};
use lockproof_campaign::pauses;
use lockproof_campaign::rows::{self, Outcomes};
use lockproof_campaign::session::{Session, SessionError};
use lockproof_campaign::shell;
use lockproof_model::check::Verdict;
use lockproof_report as report;
use lockproof_report::model::{Partition, Report};
use lockproof_report::scenario::ScenarioRow;
use lockproof_scenario::{self as scenario, Scenario};

use super::folder::OwnFolder;
use super::free::{self, Viewer};
use super::real::RealArgs;
use super::run::{Terminal, diverged, failure, heading, publish};
use super::screen;
use super::{Ended, Exit, Failure, ci, plan, signals};

/// Replays of each counterexample, if nobody says how many.
const REPLAYS: u32 = 20;
/// Walks of each world, if nobody says how many.
const WALKS: u32 = 10;

#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Show the built-in scenarios
    List,
    /// Read scenario files and say what is wrong with them
    Check {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Print the JSON schema of scenario files
    Schema,
    /// Explore the scenarios' worlds, replay what is found, compare with what is expected
    Run(RunArgs),
}

#[derive(clap::Args, Debug)]
struct RunArgs {
    /// Scenario files, or names of built-in scenarios [default: all built-in ones]
    scenarios: Vec<String>,
    /// Only this lock
    #[arg(long)]
    lock: Option<String>,
    /// Replays of each counterexample
    #[arg(long, default_value_t = REPLAYS)]
    replays: u32,
    /// Random walks for each world
    #[arg(long, default_value_t = WALKS)]
    walks: u32,
    /// Print a table of the violated properties of each scenario as well
    #[arg(short, long)]
    verbose: bool,
    /// Free runs as well, as `torture` does them: the whole table of model, replays and free runs
    #[arg(long)]
    free: bool,
    /// Free runs of each lock [default: the scenario's]
    #[arg(long, requires = "free", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: Option<u32>,
    /// Seconds for which clients work in a free run [default: the scenario's]
    #[arg(long, requires = "free", value_name = "SECONDS")]
    duration: Option<f64>,
    /// Free runs with pauses of these lengths, in leases, as `torture --pauses`
    #[arg(long, requires = "free", value_name = "LEASES", value_delimiter = ',', num_args = 1..)]
    pauses: Vec<f64>,
    /// Only one part of the scenarios: `2/4` is the second of four jobs; join the pages
    /// over all with `lockproof report merge`
    #[arg(long, value_name = "K/N")]
    partition: Option<Partition>,
    /// Where the reports go, a folder for each scenario and one page over all
    #[arg(long, value_name = "DIR", default_value = "reports/scenarios")]
    out: PathBuf,
    #[command(flatten)]
    real: RealArgs,
}

/// Runs the subcommand.
pub fn run(args: Args) -> Ended {
    match args.command {
        Command::List => list(),
        Command::Check { files } => check(&files),
        Command::Schema => {
            screen::print(scenario::json_schema().trim_end())?;
            Ok(Exit::Fine)
        }
        Command::Run(args) => play(args),
    }
}

fn list() -> Ended {
    let mut table = screen::list();
    for name in scenario::builtin_names() {
        let scenario = plan::scenario(name)?;
        table.add_row([name.to_owned(), scenario.story.replace('\n', " ")]);
    }
    screen::print(table.trim_fmt())?;
    Ok(Exit::Fine)
}

fn check(files: &[PathBuf]) -> Ended {
    let mut exit = Exit::Fine;
    for file in files {
        match plan::scenario(&file.display().to_string()) {
            Ok(scenario) => screen::print(format_args!("{}: {}", file.display(), scenario.name))?,
            Err(failure) => {
                screen::note(format_args!("error: {failure}"));
                exit = Exit::Usage;
            }
        }
    }
    Ok(exit)
}

fn play(args: RunArgs) -> Ended {
    let names = match args.scenarios.is_empty() {
        true => scenario::builtin_names()
            .into_iter()
            .map(str::to_owned)
            .collect(),
        false => args.scenarios.clone(),
    };
    // All are read before the first is played: a mistake is told at once.
    let scenarios = names
        .iter()
        .map(|name| plan::scenario(name))
        .collect::<Result<Vec<_>, _>>()?;
    for scenario in &scenarios {
        pauses::lengths(&args.pauses, scenario).map_err(free::failure)?;
    }
    if let Some(lock) = &args.lock
        && !scenarios.iter().any(|one| one.expect.contains_key(lock))
    {
        let known: BTreeSet<&String> = scenarios.iter().flat_map(|one| one.expect.keys()).collect();
        let known: Vec<&str> = known.into_iter().map(String::as_str).collect();
        return Err(Failure::usage(anyhow!(
            "no scenario that is played expects anything of `{lock}`, but of {}",
            known.join(", ")
        )));
    }
    signals::in_order();
    // The page over all of them.
    let _own = match scenarios.len() {
        0 | 1 => None,
        _ => OwnFolder::take(&args.out)?,
    };
    let mut exit = Exit::Nothing;
    let mut rows = Vec::new();
    let mut overview: Option<Report> = None;
    for (place, (name, scenario)) in names.iter().zip(&scenarios).enumerate() {
        if signals::came() {
            break;
        }
        if args.partition.is_some_and(|part| !part.takes(place)) {
            continue;
        }
        let (ended, report) = play_one(&args, name, scenario)?;
        exit = exit.and(ended);
        if let Some(report) = report {
            rows.extend(report.scenarios.iter().cloned());
            gather(&mut overview, report, &scenario.name);
        }
    }
    if let (Exit::Nothing, Some(part)) = (exit, args.partition) {
        screen::note(format_args!(
            "nothing was played: part {part} has no scenario"
        ));
    }
    if !rows.is_empty() {
        screen::print(format_args!(
            "\n{}",
            report::stories(&rows, screen::width())
        ))?;
    }
    if let Some(mut overview) = overview.filter(|_| scenarios.len() > 1) {
        overview.command = command(&args, &args.scenarios);
        overview.config = String::new();
        overview.partition = args.partition;
        ci::summary(&overview)?;
        report::write_all(&args.out, &overview).map_err(Failure::internal)?;
        let page = args.out.join("report.html");
        screen::print(format_args!("All scenarios: {}", page.display()))?;
    }
    Ok(exit)
}

/// Takes a scenario's rows into the page over all of them. Cells and traces stay
/// in the scenario's own report, to which its rows link.
fn gather(overview: &mut Option<Report>, report: Report, name: &str) {
    let rows = report.scenarios.clone();
    let into = overview.get_or_insert_with(|| Report {
        cells: Vec::new(),
        counterexamples: Vec::new(),
        locks: Vec::new(),
        scenarios: Vec::new(),
        ..report
    });
    into.scenarios
        .extend(rows.into_iter().map(|row| row.lifted(name)));
}

fn command(args: &RunArgs, scenarios: &[String]) -> String {
    let mut command = String::from("lockproof scenario run");
    for name in scenarios {
        command += &format!(" {}", shell::word(name));
    }
    if let Some(lock) = &args.lock {
        command += &format!(" --lock {}", shell::word(lock));
    }
    // What is as the defaults are need not be said.
    for (option, value, default) in [
        ("replays", args.replays, REPLAYS),
        ("walks", args.walks, WALKS),
    ] {
        if value != default {
            command += &format!(" --{option} {value}");
        }
    }
    if args.free {
        command += " --free";
    }
    if let Some(runs) = args.runs {
        command += &format!(" --runs {runs}");
    }
    if let Some(duration) = args.duration {
        command += &format!(" --duration {duration}");
    }
    if !args.pauses.is_empty() {
        let pauses: Vec<String> = args.pauses.iter().map(f64::to_string).collect();
        command += &format!(" --pauses {}", pauses.join(","));
    }
    command
}

fn play_one(
    args: &RunArgs,
    name: &str,
    scenario: &Scenario,
) -> Result<(Exit, Option<Report>), Failure> {
    let depth = Depth {
        replays: args.replays,
        walks: args.walks,
        ..Depth::default()
    };
    let config = directed::config(scenario, depth, args.lock.as_deref());
    if config.group.is_empty() {
        return Ok((Exit::Nothing, None));
    }
    let duration = free::duration(args.duration, scenario)?;
    let real = args.real.find()?;
    let _own = OwnFolder::take(&args.out.join(&scenario.name))?;
    let text = toml::to_string(scenario).map_err(Failure::internal)?;
    let command = command(args, &[name.to_owned()]);
    let heading = heading(command, config.seed, &text, &real);
    let stage = Terminal::new(args.out.join(&scenario.name));
    let explore = screen::bounded();
    let campaign = Campaign::new(
        config,
        &stage,
        (real.runtime, real.gate),
        explore,
        Arc::new(signals::came),
        heading,
    );
    let mut report = campaign.run().map_err(failure)?;
    stage.screen.clear();
    // What was not come to is no difference.
    let differences = match signals::came() {
        true => Vec::new(),
        false => directed::compare(scenario, &mut report),
    };
    if args.verbose {
        show(scenario, &report)?;
    }
    for difference in &differences {
        screen::note(format_args!(
            "{}: not as expected: {difference}",
            scenario.name
        ));
    }
    let mut exit = conclusion(&report, differences.is_empty());
    let mut failed = None;
    let locks = scenario.expect.keys();
    for lock in locks.filter(|name| args.lock.as_ref().is_none_or(|only| only == *name)) {
        if signals::came() {
            break;
        }
        let (ended, mut row, failure) = add(args, (name, scenario), &mut report, lock, duration)?;
        let own = |difference: &&String| difference.starts_with(&format!("{lock}: "));
        let notes: Vec<String> = differences.iter().filter(own).cloned().collect();
        row.unexpected |= !notes.is_empty();
        row.notes.extend(notes);
        exit = exit.max(ended);
        report.scenarios.push(row);
        failed = failure;
        if failed.is_some() {
            break;
        }
    }
    publish(&stage.out, &report)?;
    if let Some(failed) = failed {
        return Err(free::failure(failed));
    }
    ci::annotate(&report)?;
    Ok((exit, Some(report)))
}

/// The row of one lock, with its free runs if they are wanted.
fn add(
    args: &RunArgs,
    (name, scenario): (&str, &Scenario),
    report: &mut Report,
    lock: &str,
    duration: std::time::Duration,
) -> Result<(Exit, ScenarioRow, Option<SessionError>), Failure> {
    let row = |report: &Report, outcomes: &Outcomes| {
        let command = match &args.lock {
            Some(_) => report.command.clone(),
            None => format!("{} --lock {}", report.command, shell::word(lock)),
        };
        rows::row(scenario, lock, Some(report), outcomes, command)
    };
    if !args.free {
        return Ok((Exit::Fine, row(report, &Outcomes::default()), None));
    }
    let real = args.real.find()?;
    let session = Session {
        scenario,
        named: name.to_owned(),
        duration,
        runs: args.runs.unwrap_or(scenario.run.runs),
        seed: scenario.run.seed,
        pauses: pauses::lengths(&args.pauses, scenario).map_err(free::failure)?,
        out: args.out.join(&scenario.name),
        ground: free::ground(&real, None)?,
        runtime: &real.runtime,
        audience: &Viewer,
    };
    let played = session.play(&plan::load(scenario.lock_file(lock))?);
    let (outcomes, failed) = played.map_err(free::failure)?;
    // What stands between clients and servers may differ: replays need to hold
    // single requests, which only the embedded proxy can.
    let (replays, runs) = (real.gate.proxy.name(), session.ground.proxy.name());
    report.environment.proxy = Some(match replays == runs {
        true => runs.to_owned(),
        false => format!("{replays} (replays), {runs} (free runs)"),
    });
    let row = row(report, &outcomes);
    let ended = super::torture::conclude(&row, &outcomes)?;
    Ok((ended, row, failed))
}

fn conclusion(report: &Report, as_expected: bool) -> Exit {
    if report.totals().contradicted > 0 || diverged(report) || !as_expected {
        Exit::Violation
    } else if report.totals().unknown > 0 {
        Exit::Unknown
    } else {
        Exit::Fine
    }
}

/// One line a lock: what broke, how often it was reproduced, and the control.
fn show(scenario: &Scenario, report: &Report) -> Result<(), Failure> {
    let story = format!("{}: {}", scenario.name, scenario.story.replace('\n', " "));
    screen::print(report::terminal::paragraph(&story, screen::page()))?;
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["lock", "violated under the fault", "reproduced", "control"]);
    for lock in scenario.expect.keys() {
        let cells = report.cells.iter().filter(|cell| cell.lock == *lock);
        let (control, faulty): (Vec<_>, Vec<_>) =
            cells.partition(|cell| cell.assumptions.is_empty());
        let faulty = if faulty.is_empty() { &control } else { &faulty };
        if faulty.is_empty() {
            continue;
        }
        let broken: Vec<_> = violated(faulty);
        let replays = broken.iter().filter_map(|cell| cell.replays);
        let (done, of) = replays.fold((0, 0), |(done, of), replays| {
            (done + replays.reproduced, of + replays.attempts)
        });
        let names: Vec<&str> = broken.iter().map(|cell| cell.property.as_str()).collect();
        let names = if names.is_empty() {
            "nothing".to_owned()
        } else {
            names.join("\n")
        };
        let control = match violated(&control).len() {
            0 => "holds".to_owned(),
            broken => format!("{broken} violated"),
        };
        table.add_row([lock.clone(), names, format!("{done}/{of}"), control]);
    }
    screen::print(table)
}

fn violated<'r>(
    cells: &[&'r lockproof_report::model::Cell],
) -> Vec<&'r lockproof_report::model::Cell> {
    let violated = |cell: &&&lockproof_report::model::Cell| cell.verdict == Verdict::Violated;
    cells.iter().filter(violated).copied().collect()
}
