//! `lockproof torture`: free runs of a scenario, judged.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use comfy_table::{Table, presets};

use crate::history::{self, FindingVerdict, JudgeOptions, Judgement, Reader};
use crate::lock::LockFile;
use crate::replay::binaries;
use crate::replay::own_network;
use crate::replay::proxy::toxiproxy;
use crate::replay::topology::ProxyKind;
use crate::scenario::{Expectation, Scenario};
use crate::torture::agreement::{self, Agreement};
use crate::torture::free::{self, FreeOptions, FreeRun, Now};
use crate::torture::rate::Rate;

use super::attach::{self, AttachArgs};
use super::real::{Real, RealArgs};
use super::screen::{self, Screen};
use super::{Ended, Exit, Failure, plan, scenario};

#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  lockproof torture gc-pause --lock token --runs 5\n  lockproof torture my-scenario.toml --duration 30 --seed 7"
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
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,
    /// Where histories and schedules go, a folder for each scenario and lock
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
    screen::catch_interrupts()?;
    let scenario = scenario::load(&args.scenario)?;
    let duration = duration(&args, &scenario)?;
    let real = args.real.find()?;
    let proxy = proxy(&real)?;
    let locks: Vec<String> = match &args.lock {
        Some(lock) => vec![lock.clone()],
        None => scenario.expect.keys().cloned().collect(),
    };
    let mut exit = Exit::Nothing;
    for name in locks {
        let lock = plan::load(&name)?;
        let ended = torture(&args, &scenario, lock, duration, &real, &proxy)?;
        exit = if exit == Exit::Nothing {
            ended
        } else {
            exit.max(ended)
        };
    }
    Ok(exit)
}

fn duration(args: &Args, scenario: &Scenario) -> Result<Duration, Failure> {
    let default = f64::from(scenario.run.duration_ms) / 1000.0;
    let seconds = args.duration.unwrap_or(default);
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|duration| (0.1..=3600.0).contains(&duration.as_secs_f64()))
        .ok_or_else(|| Failure::usage(anyhow!("--duration is 0.1 to 3600 seconds, not {seconds}")))
}

/// A real toxiproxy wherever one is installed, the embedded proxy elsewhere.
fn proxy(real: &Real) -> Result<ProxyKind, Failure> {
    match toxiproxy::find_program(&binaries::tool_directories()) {
        Ok(program) => Ok(ProxyKind::Toxiproxy(program)),
        Err(_) if real.proxy == "toxiproxy" => Err(Failure::usage(anyhow!(
            "toxiproxy is not installed; run scripts/setup.sh where there is a Go toolchain"
        ))),
        Err(_) => Ok(ProxyKind::Embedded),
    }
}

/// All runs of one lock.
fn torture(
    args: &Args,
    scenario: &Scenario,
    lock: LockFile,
    duration: Duration,
    real: &Real,
    proxy: &ProxyKind,
) -> Ended {
    let folder = args.out.join(&scenario.name).join(&lock.name);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("failed to create {}", folder.display()))
        .map_err(Failure::internal)?;
    let first = args.seed.unwrap_or(scenario.run.seed);
    let runs = args.runs.unwrap_or(scenario.run.runs);
    let mut base = FreeOptions {
        scenario: scenario.clone(),
        lock: lock.clone(),
        seed: first,
        duration,
        program: std::env::current_exe().map_err(Failure::internal)?,
        binary: real.server.clone(),
        shim: real.gate.shim.clone(),
        proxy: proxy.clone(),
        attach: args.attach.find()?,
        history: PathBuf::new(),
    };
    if base.attach.is_some() {
        let kind = free::topology_kind(&base);
        attach::leave_out(&mut base.scenario, kind)?;
    }
    let mut tries = Vec::new();
    for seed in first..first + u64::from(runs) {
        let options = FreeOptions {
            seed,
            history: folder.join(format!("seed-{seed}.history.jsonl")),
            ..base.clone()
        };
        tries.push(one(&options, &folder, real)?);
    }
    conclude(scenario, &lock.name, &tries)
}

/// A run and what the oracles say of it.
struct Try {
    seed: u64,
    run: FreeRun,
    judgement: Judgement,
}

fn one(options: &FreeOptions, folder: &Path, real: &Real) -> Result<Try, Failure> {
    let schedule = free::schedule(options);
    let path = folder.join(format!("seed-{}.schedule.json", options.seed));
    std::fs::write(&path, schedule.to_json())
        .with_context(|| format!("failed to write {}", path.display()))
        .map_err(Failure::internal)?;
    let screen = Screen::new(false);
    let title = format!(
        "{}, {}, seed {}",
        options.scenario.name, options.lock.name, options.seed
    );
    let mut watch = |now: &Now| screen.say(&progress(&title, now));
    let run = real
        .runtime
        .block_on(free::run(options, &mut watch))
        .map_err(Failure::internal)?;
    screen.clear();
    show(&title, &run, options)?;
    let judgement = judged(&options.history)?;
    let path = options.history.with_extension("judgement.json");
    let text = serde_json::to_string_pretty(&judgement).map_err(Failure::internal)?;
    std::fs::write(&path, text + "\n")
        .with_context(|| format!("failed to write {}", path.display()))
        .map_err(Failure::internal)?;
    Ok(Try {
        seed: options.seed,
        run,
        judgement,
    })
}

fn judged(path: &Path) -> Result<Judgement, Failure> {
    let file = File::open(path)
        .with_context(|| format!("failed to read {}", path.display()))
        .map_err(Failure::internal)?;
    let told = |error| Failure::internal(anyhow!("{}: {error}", path.display()));
    let reader = Reader::new(BufReader::new(file)).map_err(told)?;
    history::judge(reader, &JudgeOptions::default()).map_err(told)
}

/// The oracles' answers over all runs, beside the model's.
fn conclude(scenario: &Scenario, lock: &str, tries: &[Try]) -> Ended {
    let expected = scenario.expect.get(lock).cloned();
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["oracle", "free runs", "model"]);
    for oracle in history::ORACLES {
        let rate = rate(oracle, tries);
        if rate.runs > 0 {
            let model =
                expected.as_ref().map_or("not asked", |expected| {
                    match agreement::predicted(expected, oracle) {
                        Some(true) => "violated",
                        Some(false) => "holds",
                        None => "-",
                    }
                });
            table.add_row([oracle.to_owned(), rate.to_string(), model.to_owned()]);
        }
    }
    screen::print(table)?;
    match expected {
        Some(expected) => compare(scenario, &expected, tries),
        None => Ok(
            match tries
                .iter()
                .any(|one| agreement::observed(&one.judgement).next().is_some())
            {
                true => Exit::Violation,
                false => Exit::Fine,
            },
        ),
    }
}

/// In how many runs an oracle saw a violation, of those where it could.
fn rate(oracle: &str, tries: &[Try]) -> Rate {
    let mut rate = Rate { events: 0, runs: 0 };
    for one in tries {
        let finding = one
            .judgement
            .findings
            .iter()
            .find(|found| found.oracle == oracle);
        match finding.map(|found| found.verdict) {
            Some(FindingVerdict::Violated) => {
                rate.events += 1;
                rate.runs += 1;
            }
            Some(FindingVerdict::NotObserved | FindingVerdict::Unknown) => rate.runs += 1,
            Some(FindingVerdict::NotApplicable) | None => {}
        }
    }
    rate
}

/// Observed and predicted must agree in both directions.
fn compare(scenario: &Scenario, expected: &Expectation, tries: &[Try]) -> Ended {
    // The model's clients react within a tick.
    let bound_ms = scenario.clients.ttl_ms as u64 / u64::from(scenario.model.ttl_ticks);
    let mut exit = Exit::Fine;
    for one in tries {
        match agreement::agreement(expected, &one.judgement, &one.run, bound_ms) {
            Agreement::Agrees => {}
            Agreement::Contradicts(oracles) => {
                exit = exit.max(Exit::Violation);
                screen::note(format_args!(
                    "seed {}: observed {}, and the model says that it holds: an error of lockproof or of the expectation",
                    one.seed,
                    oracles.join(", ")
                ));
            }
            Agreement::Stalled(oracles, stall_ms) => {
                screen::note(format_args!(
                    "seed {}: unknown: {} was observed, and a client did not run for {stall_ms} ms, which nobody injected",
                    one.seed,
                    oracles.join(", ")
                ));
                if exit == Exit::Fine {
                    exit = Exit::Unknown;
                }
            }
        }
    }
    for oracle in &expected.observed {
        if rate(oracle, tries).events == 0 {
            exit = Exit::Violation;
            screen::note(format_args!(
                "{oracle} was expected to be observed, and was not"
            ));
        }
    }
    Ok(exit)
}

fn progress(title: &str, now: &Now) -> String {
    let seconds = now.elapsed.as_secs_f64();
    let rate = now.tally.operations as f64 / seconds.max(0.001);
    let faults = if now.faults.is_empty() {
        "nothing injected".to_owned()
    } else {
        now.faults.join(", ")
    };
    format!("{title}: {seconds:.1} s, {rate:.0} operations/s, {faults}")
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
    for warning in &run.warnings {
        screen::note(format_args!("warning: {warning}"));
    }
    Ok(())
}
