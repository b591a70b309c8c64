//! A recorded history as a file: judged, and drawn as a page.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use lockproof_history::{
    JudgeOptions, Judgement, ReadError, Reader, judge as judge_events, timeline,
};
use lockproof_input::files;
use lockproof_report::run::{RunPage, Struck, run_page};
use lockproof_torture::strikes::{self, Strike};

/// Violations of each oracle that a page can mark.
const EXAMPLES_DRAWN: usize = 200;

/// Why a history was not judged or drawn.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The file does not open.
    #[error("failed to read {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is no history.
    #[error("{}:{}: {}", path.display(), source.line, source.problem)]
    Read {
        /// The file.
        path: PathBuf,
        /// Which line, and what is wrong with it.
        source: Box<ReadError>,
    },
    /// The page cannot be rendered: an error of ours.
    #[error("failed to draw {}: {reason}", path.display())]
    Draw {
        /// The history.
        path: PathBuf,
        /// What the renderer said.
        reason: String,
    },
}

/// What a page shows beside the history itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// What became of its faults; `None` if none was planned.
    pub strikes: Option<&'a [Strike]>,
    /// Oracles, and what the model says of them.
    pub model: &'a [(String, &'static str)],
    /// The command line that records such a history.
    pub command: Option<&'a str>,
    /// Where the report is to which the page belongs.
    pub report: Option<&'a str>,
}

/// Opens a history.
///
/// # Errors
/// If it does not open, or its first line is no header.
pub fn open(path: &Path) -> Result<Reader<BufReader<File>>, HistoryError> {
    let file = files::open(path).map_err(|source| HistoryError::Open {
        path: path.into(),
        source,
    })?;
    Reader::new(BufReader::with_capacity(1 << 16, file)).map_err(at(path))
}

/// Judges a history with as many examples as a page can mark.
///
/// # Errors
/// The history cannot be read.
pub fn judge(path: &Path) -> Result<Judgement, HistoryError> {
    let options = JudgeOptions {
        examples: EXAMPLES_DRAWN,
    };
    judge_events(open(path)?, &options).map_err(at(path))
}

/// What became of a history's faults.
///
/// # Errors
/// The history cannot be read.
pub fn strikes(path: &Path) -> Result<Vec<Strike>, HistoryError> {
    strikes::strikes(open(path)?).map_err(at(path))
}

/// The page of a judged history.
///
/// # Errors
/// The history cannot be read, or (an error of ours) the page not be rendered.
pub fn page(
    path: &Path,
    judgement: &Judgement,
    beside: &Beside<'_>,
) -> Result<String, HistoryError> {
    let timeline = timeline::timeline(open(path)?, judgement).map_err(at(path))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let struck: Option<Vec<Struck<'_>>> = beside
        .strikes
        .map(|strikes| strikes.iter().map(shown).collect());
    let page = RunPage {
        strikes: struck.as_deref(),
        judgement,
        timeline: &timeline,
        model: beside.model,
        history: &name,
        tool_version: env!("CARGO_PKG_VERSION"),
        command: beside.command,
        report: beside.report,
    };
    run_page(&page).map_err(|error| HistoryError::Draw {
        path: path.into(),
        reason: error.to_string(),
    })
}

fn at(path: &Path) -> impl Fn(ReadError) -> HistoryError + '_ {
    |source| HistoryError::Read {
        path: path.into(),
        source: Box::new(source),
    }
}

fn shown(strike: &Strike) -> Struck<'_> {
    Struck {
        fault: &strike.fault,
        at: strike.at,
        struck: strike.struck,
        words: &strike.words,
    }
}
