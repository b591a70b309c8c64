//! `lockproof report`: render a kept report.json again.

use std::path::PathBuf;

use anyhow::Context;

use crate::report;

use super::{Ended, Exit, Failure, screen};

#[derive(clap::Args, Debug)]
pub struct Args {
    /// A report.json that `run` wrote
    report: PathBuf,
    /// Where the renderings go
    #[arg(long, value_name = "DIR", default_value = "reports/latest")]
    out: PathBuf,
}

/// Runs the subcommand.
pub fn run(args: Args) -> Ended {
    let text = std::fs::read_to_string(&args.report)
        .with_context(|| format!("failed to read {}", args.report.display()))
        .map_err(Failure::usage)?;
    let report = report::parse(&text).map_err(Failure::usage)?;
    for path in report::write_all(&args.out, &report).map_err(Failure::internal)? {
        screen::print(path.display())?;
    }
    Ok(Exit::Fine)
}
