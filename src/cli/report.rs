//! `lockproof report`: render a kept report.json again; merge parts.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Subcommand;
use lockproof_campaign::shell;
use lockproof_report::{self as report, Report};

use super::folder::OwnFolder;
use super::run::{Ending, conclude, publish, read, read_baseline, trace_path};
use super::{Ended, Exit, Failure, screen, signals};

#[derive(clap::Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    after_help = "Examples:\n  lockproof report kept/report.json --out again\n  lockproof report merge part-*/report.json --out reports/latest --baseline"
)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// A report.json that `run` wrote
    report: Option<PathBuf>,
    /// Where the renderings go
    #[arg(long, value_name = "DIR", default_value = "reports/latest")]
    out: PathBuf,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Join the parts of a run that was divided by --partition
    Merge(MergeArgs),
}

#[derive(clap::Args, Debug)]
struct MergeArgs {
    /// The report.json of every part
    #[arg(required = true)]
    parts: Vec<PathBuf>,
    /// Where the whole report goes
    #[arg(long, value_name = "DIR", default_value = "reports/latest")]
    out: PathBuf,
    /// Compare with a baseline and fail on any difference [default: reports/baseline.toml]
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = super::run::BASELINE)]
    baseline: Option<PathBuf>,
}

/// Runs the subcommand.
pub fn run(args: Args) -> Ended {
    match (args.command, args.report) {
        (Some(Command::Merge(args)), _) => merge(&args),
        (None, Some(path)) => render(&path, &args.out),
        // clap shows the help when there is neither.
        (None, None) => Ok(Exit::Nothing),
    }
}

fn render(path: &Path, out: &Path) -> Ended {
    let report = load(path)?;
    signals::in_order();
    let _own = OwnFolder::take(out)?;
    for path in report::write_all(out, &report).map_err(Failure::internal)? {
        screen::print(path.display())?;
    }
    Ok(Exit::Fine)
}

fn merge(args: &MergeArgs) -> Ended {
    let baseline = read_baseline(args.baseline.as_deref())?;
    let parts: Vec<Report> = args
        .parts
        .iter()
        .map(|path| load(path))
        .collect::<Result<_, _>>()?;
    let replay = |id: &str| {
        let path = trace_path(&args.out, id);
        format!("lockproof replay {}", shell::word(&path.to_string_lossy()))
    };
    let mut whole = report::merge(parts, replay).map_err(Failure::usage)?;
    if let Some(baseline) = &baseline {
        baseline.apply(&mut whole);
    }
    signals::in_order();
    let _own = OwnFolder::take(&args.out)?;
    publish(&args.out, &whole)?;
    let ending = Ending {
        baseline: baseline.as_ref(),
        write_baseline: None,
        verbose: false,
    };
    conclude(&args.out, &whole, ending)
}

fn load(path: &Path) -> Result<Report, Failure> {
    report::parse(&read(path)?)
        .with_context(|| path.display().to_string())
        .map_err(Failure::usage)
}
