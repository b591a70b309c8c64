//! `lockproof replay`: a trace on real servers, step by step.

use std::path::PathBuf;

use anyhow::Context;
use lockproof_model::world::catalogue::Property;
use lockproof_replay::{GatePool, RealSide, ReplayReport, ReplayVerdict};
use lockproof_trace::{self as trace, Real, Story, Trace, TraceError, story, words};

use super::check::Format;
use super::plan;
use super::real::RealArgs;
use super::{Ended, Exit, Failure, machine, screen, signals};

#[derive(clap::Args, Debug)]
#[command(
    after_help = "Exit codes: 0 reproduced every time, 1 diverged, 2 not replayable, 64 a bad trace, 70 the harness broke."
)]
pub struct Args {
    /// The trace, as `check` writes it
    trace: PathBuf,
    /// The lock file [default: the one that the trace names]
    #[arg(long)]
    lock: Option<String>,
    /// How often
    #[arg(long, default_value_t = 1)]
    runs: u32,
    /// Write what really happened, as JSON lines
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    /// Text for people, or one JSON object a run
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    real: RealArgs,
}

/// Runs the subcommand.
pub fn run(args: Args) -> Ended {
    let trace = trace::read(&args.trace).map_err(|error| match error {
        TraceError::Read { .. } => Failure::usage(error),
        error => Failure::usage(error).context(args.trace.display().to_string()),
    })?;
    let file = match &args.lock {
        Some(name) => plan::load(name)?,
        None => plan::find(&trace.lock, &args.trace)?,
    };
    trace::check_lock(&trace, &file.sha256).map_err(Failure::usage)?;
    let real = args.real.find()?;
    signals::in_order();
    let mut pool = GatePool::new(real.gate.clone());
    let mut worst = Exit::Nothing;
    for run in 1..=args.runs {
        let Some(report) = real.until_told(pool.replay(&trace, &file.path)) else {
            screen::note(format_args!("{} of {} runs were made", run - 1, args.runs));
            break;
        };
        if let Some(path) = &args.history {
            write_history(&report, path)?;
        }
        match args.format {
            Format::Json => print_json(&report)?,
            Format::Text => {
                if run == 1 {
                    print_story(&trace, &report)?;
                }
                print_text(&report, run, args.runs, trace.steps.len())?;
            }
        }
        if let ReplayVerdict::Failed { error, .. } = &report.verdict
            && let Some(meaning) = machine::refusal(error)
        {
            screen::note(meaning);
        }
        let exit = exit_of(&report.verdict);
        worst = if worst == Exit::Nothing {
            exit
        } else {
            worst.max(exit)
        };
    }
    if args.runs == 0 {
        screen::note("nothing ran: --runs 0");
    }
    Ok(worst)
}

fn exit_of(verdict: &ReplayVerdict) -> Exit {
    match verdict {
        ReplayVerdict::Reproduced => Exit::Fine,
        ReplayVerdict::Diverged { .. } => Exit::Violation,
        ReplayVerdict::NotReplayable { .. } => Exit::Unknown,
        ReplayVerdict::Failed { .. } => Exit::Internal,
    }
}

fn print_json(report: &ReplayReport) -> Result<(), Failure> {
    let text = serde_json::to_string(report).map_err(Failure::internal)?;
    screen::print(text)
}

/// The steps as the model predicts them, and beside each what really happened.
fn print_story(trace: &Trace, report: &ReplayReport) -> Result<(), Failure> {
    let agreed: Vec<String> = (0..report.steps_done)
        .map(|step| really(report, step))
        .collect();
    let ended = match &report.verdict {
        ReplayVerdict::Diverged { actual, .. } => Some(actual.as_str()),
        ReplayVerdict::Failed { step: Some(_), .. } => Some("the harness broke"),
        ReplayVerdict::Failed { step: None, .. }
        | ReplayVerdict::NotReplayable { .. }
        | ReplayVerdict::Reproduced => None,
    };
    let ended = ended.map(words::printable);
    if agreed.is_empty() && ended.is_none() {
        return Ok(());
    }
    let real = Real {
        agreed: &agreed,
        ended: ended.as_deref(),
    };
    let property = trace.property.as_deref().and_then(Property::parse);
    let told = story(
        trace,
        &Story {
            colour: true,
            meaning: property.map(|property| property.info().meaning),
            real: Some(real),
            width: screen::page(),
            ..Story::default()
        },
    );
    screen::print(told.trim_end())
}

/// What the real side did in a step that agreed, in words.
fn really(report: &ReplayReport, step: usize) -> String {
    let sides = report.real.iter().filter(|real| real.step == step);
    let texts: Vec<String> = sides
        .map(|real| match &real.side {
            RealSide::Reply(reply) => words::reply(reply),
            RealSide::Outcome(outcome) => words::outcome(outcome),
            RealSide::Done(deed) => words::printable(deed),
        })
        .collect();
    texts.join("; ")
}

fn print_text(report: &ReplayReport, run: u32, runs: u32, steps: usize) -> Result<(), Failure> {
    let count = if runs > 1 {
        format!("run {run} of {runs}: ")
    } else {
        String::new()
    };
    screen::print(format_args!(
        "{count}{} ({} of {steps} steps, {:.0} ms after {:.0} ms of setting up)",
        words::printable(&report.verdict.to_string()),
        report.steps_done,
        report.steps_ms,
        report.setup_ms
    ))?;
    if let Some(confirmation) = report.confirmation.as_ref().filter(|_| run == 1) {
        for sentence in &confirmation.evidence {
            screen::print(format_args!("  {}", words::printable(sentence)))?;
        }
    }
    Ok(())
}

/// Writes down what happened in a replay.
pub fn write_history(report: &ReplayReport, path: &std::path::Path) -> Result<(), Failure> {
    let write = || -> std::io::Result<()> {
        let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
        report.write_history(&mut file)
    };
    write()
        .with_context(|| format!("failed to write the history to {}", path.display()))
        .map_err(Failure::internal)
}
