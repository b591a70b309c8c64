//! `lockproof scenario`: scenario files, listed, checked and played.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Subcommand;
use comfy_table::{Table, presets};

use crate::campaign::Campaign;
use crate::campaign::directed::{self, Depth};
use crate::check::{ExploreOptions, Verdict};
use crate::nearest;
use crate::report::model::Report;
use crate::scenario::{self, Scenario};

use super::real::RealArgs;
use super::run::{Terminal, diverged, failure, heading, publish};
use super::screen::{self, Screen};
use super::{Ended, Exit, Failure};

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
    #[arg(long, default_value_t = 20)]
    replays: u32,
    /// Random walks for each world
    #[arg(long, default_value_t = 10)]
    walks: u32,
    /// Where the reports go, a folder for each scenario
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
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for name in scenario::builtin_names() {
        let scenario = load(name)?;
        table.add_row([name.to_owned(), scenario.story.replace('\n', " ")]);
    }
    screen::print(table)?;
    Ok(Exit::Fine)
}

fn check(files: &[PathBuf]) -> Ended {
    let mut exit = Exit::Fine;
    for file in files {
        match load(&file.display().to_string()) {
            Ok(scenario) => screen::print(format_args!("{}: {}", file.display(), scenario.name))?,
            Err(failure) => {
                screen::note(format_args!("error: {failure}"));
                exit = Exit::Usage;
            }
        }
    }
    Ok(exit)
}

/// A built-in scenario, or a file.
pub(super) fn load(name: &str) -> Result<Scenario, Failure> {
    let text = match scenario::builtin(name) {
        Some(text) => return Scenario::parse(text, name).map_err(Failure::internal),
        None => read(name)?,
    };
    Scenario::parse(&text, name).map_err(Failure::usage)
}

fn read(name: &str) -> Result<String, Failure> {
    let path = Path::new(name);
    if !path.exists() && !name.ends_with(".toml") {
        let error = anyhow!(
            "there is no scenario file `{name}`, and no built-in scenario of that name; {}",
            nearest::hint(name, &scenario::builtin_names())
        );
        return Err(Failure::usage(error));
    }
    std::fs::read_to_string(path)
        .with_context(|| format!("failed to read {name}"))
        .map_err(Failure::usage)
}

fn play(args: RunArgs) -> Ended {
    screen::catch_interrupts()?;
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
        .map(|name| load(name))
        .collect::<Result<Vec<_>, _>>()?;
    let mut exit = Exit::Nothing;
    for scenario in &scenarios {
        let ended = play_one(&args, scenario)?;
        exit = match (exit, ended) {
            (Exit::Nothing, ended) => ended,
            (exit, Exit::Nothing) => exit,
            (exit, ended) => exit.max(ended),
        };
    }
    Ok(exit)
}

fn play_one(args: &RunArgs, scenario: &Scenario) -> Ended {
    let depth = Depth {
        replays: args.replays,
        walks: args.walks,
        ..Depth::default()
    };
    let config = directed::config(scenario, depth, args.lock.as_deref());
    if config.group.is_empty() {
        return Ok(Exit::Nothing);
    }
    let real = args.real.find()?;
    let text = toml::to_string(scenario).map_err(Failure::internal)?;
    let command = format!("lockproof scenario run {}", scenario.name);
    let heading = heading(command, &config, &text, &real);
    let stage = Terminal {
        screen: Screen::new(false),
        out: args.out.join(&scenario.name),
    };
    let explore = ExploreOptions {
        should_stop: screen::stop_after(None),
        ..Default::default()
    };
    let campaign = Campaign::new(config, &stage, real.runtime, real.gate, explore, heading);
    let mut report = campaign.run().map_err(failure)?;
    stage.screen.clear();
    let differences = directed::compare(scenario, &mut report);
    publish(&stage.out, &report)?;
    show(scenario, &report)?;
    for difference in &differences {
        screen::note(format_args!(
            "{}: not as expected: {difference}",
            scenario.name
        ));
    }
    Ok(conclusion(&report, differences.is_empty()))
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
    screen::print(format_args!(
        "{}: {}",
        scenario.name,
        scenario.story.replace('\n', " ")
    ))?;
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

fn violated<'r>(cells: &[&'r crate::report::model::Cell]) -> Vec<&'r crate::report::model::Cell> {
    let violated = |cell: &&&crate::report::model::Cell| cell.verdict == Verdict::Violated;
    cells.iter().filter(violated).copied().collect()
}
