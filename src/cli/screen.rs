//! Progress on standard error, and the clock that lower layers are lent.

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use comfy_table::{ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use lockproof_model::check::{ExploreOptions, Observer, Progress, ShouldStop};
use lockproof_trace::Assumption;

use super::{Failure, signals, supervisor};

/// Stops at a signal, and when the time or the memory of what is under way is used up.
pub fn should_stop() -> ShouldStop {
    Arc::new(|| signals::came() || supervisor::must_stop())
}

/// A search that stops at a signal or when its time or memory is used up, with all cores.
pub fn bounded() -> ExploreOptions {
    ExploreOptions {
        should_stop: should_stop(),
        give_up: Arc::new(supervisor::must_give_up),
        ..ExploreOptions::default()
    }
}

/// Prints a line, or lines, of the answer on standard output.
///
/// A reader that went away (`| head`) has seen enough: the exit code still tells
/// the rest. A full disk is an error, because the answer would be cut short.
pub fn print(text: impl Display) -> Result<(), Failure> {
    answer(text)
        .context("failed to write to standard output")
        .map_err(Failure::internal)
}

/// As [`print`], with the system's own error.
pub fn answer(text: impl Display) -> std::io::Result<()> {
    let mut out = anstream::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Tells something beside the answer, on standard error. Where that is closed
/// nobody listens.
pub fn note(text: impl Display) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Shows progress on standard error: a live line on a terminal, nothing else
/// elsewhere, so that a log stays readable.
pub struct Screen {
    start: Instant,
    bar: ProgressBar,
    plain: bool,
}

impl Screen {
    /// `quiet` shows nothing at all.
    pub fn new(quiet: bool) -> Screen {
        let terminal = std::io::stderr().is_terminal();
        let bar = if quiet || !terminal {
            ProgressBar::hidden()
        } else {
            let bar = ProgressBar::new_spinner();
            // The template is a constant without placeholders of our own.
            if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix:.bold} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        };
        Screen {
            start: Instant::now(),
            bar,
            plain: !quiet && !terminal,
        }
    }

    /// True if what is said replaces what was said before.
    pub fn is_live(&self) -> bool {
        !self.plain
    }

    /// Shows on a terminal what is being done now; a log needs no line for each.
    pub fn show(&self, text: &str) {
        self.bar.set_prefix(text.to_owned());
        self.bar.set_message("");
    }

    /// As [`Screen::show`], and a log has a line of it.
    pub fn say(&self, text: &str) {
        self.show(text);
        if self.plain {
            note(text);
        }
    }

    /// A line that stays: above the live line, or in the log.
    pub fn line(&self, text: &str) {
        self.bar.suspend(|| note(text));
    }

    /// As [`Screen::line`], for other threads and for longer than the screen is borrowed.
    pub fn liner(&self) -> impl Fn(&str) + Send + Sync + 'static {
        let bar = self.bar.clone();
        move |text| bar.suspend(|| note(text))
    }

    /// As [`print`], above the live line.
    pub fn print(&self, text: impl Display) -> Result<(), Failure> {
        self.bar.suspend(|| print(text))
    }

    /// Takes the live line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Screen {
    fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn begins(&self, assumptions: &[Assumption]) {
        supervisor::begin_part();
        self.bar
            .set_prefix(format!("exploring: {}", set_name(assumptions)));
        self.bar.set_message("");
    }

    fn shares(&self, sets: usize) {
        supervisor::begin_part();
        supervisor::share(sets);
    }

    fn progress(&self) -> Box<dyn Fn(Progress) + Send + Sync> {
        let bar = self.bar.clone();
        let start = Instant::now();
        Box::new(move |progress| {
            let seconds = start.elapsed().as_secs_f64().max(0.001);
            bar.set_message(format!(
                "{} states, {}/s, depth {}, frontier {}",
                indicatif::HumanCount(progress.states),
                indicatif::HumanCount((progress.states as f64 / seconds) as u64),
                progress.depth,
                indicatif::HumanCount(progress.frontier),
            ));
        })
    }
}

/// A list without rules that keeps to the page; [`Table::trim_fmt`] leaves no space at its lines' ends.
pub fn list() -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(page() as u16);
    table
}

/// Columns for what is read and not looked up: lines that are longer tire.
pub fn page() -> usize {
    width().min(100)
}

/// Columns of the terminal; where there is none, what a log viewer shows.
pub fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 { 120 } else { columns.max(60) }
}

/// An assumption set in one word or more: `no faults`, `loss + client-crash`.
pub fn set_name(assumptions: &[Assumption]) -> String {
    if assumptions.is_empty() {
        return "no faults".into();
    }
    let names: Vec<&str> = assumptions.iter().map(|one| one.name.as_str()).collect();
    names.join(" + ")
}
