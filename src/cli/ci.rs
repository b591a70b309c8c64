//! What a CI system wants beside the report's files.
//!
//! On GitHub Actions (it sets `GITHUB_ACTIONS`) every cell that turns the run red
//! becomes an annotation, and the Markdown report the job's summary. Other systems
//! read junit.xml.

use std::fs::OpenOptions;
use std::io::Write;

use anyhow::Context;
use lockproof_report::{Report, annotations, markdown};

use super::{Failure, screen};

/// GitHub shows ten errors of a step; the others stand in the summary.
const ANNOTATIONS_MAX: usize = 10;

fn on_github() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// Annotates each cell that turns the run red.
pub fn annotate(report: &Report) -> Result<(), Failure> {
    if !on_github() {
        return Ok(());
    }
    for annotation in annotations(report).iter().take(ANNOTATIONS_MAX) {
        screen::print(annotation.github())?;
    }
    Ok(())
}

/// Adds the report to the job's summary.
pub fn summary(report: &Report) -> Result<(), Failure> {
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|_| on_github()) else {
        return Ok(());
    };
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path)
        .and_then(|mut file| file.write_all(markdown(report).as_bytes()))
        .with_context(|| format!("failed to write the job summary {}", path.display()))
        .map_err(Failure::internal)
}
