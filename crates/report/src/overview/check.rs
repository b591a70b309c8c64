//! What `lockproof check` tells: a line a set of faults, and what they say together.

use anstyle::{AnsiColor, Style};
use lockproof_model::check::{CheckReport, CheckResult, Verdict};
use lockproof_trace::{Setup, words};
use unicode_width::UnicodeWidthStr;

use super::super::sets::listed;
use super::super::terminal::{hung, unknown_lines, wrapped};
use super::{Overview, consequence_words, rank, sentences, set_words};

/// Columns of the names of sets; a longer one moves its line's rest to the right.
const NAME: usize = 26;
/// Columns of the numbers of states.
const STATES: usize = 12;
/// So many columns are left for what is said, or it goes on at the left.
const SAID: usize = 30;

/// What came of one set of faults, in a line: `✗ client-pause   4 720 states  two believers in 14
/// steps, lost update in 17`; what is beyond `width` goes on below. Colours are ANSI escape
/// sequences. A lease of so many ticks tells which budgets and sizes are the usual ones, and not said.
pub fn check_line(results: &[CheckResult], ttl_ticks: u32, width: usize) -> String {
    let Some(first) = results.first() else {
        return String::new();
    };
    let violated = violations(results);
    let open = results.iter().filter(|one| one.verdict == Verdict::Unknown);
    let open = open.count();
    let (mark, colour) = match (violated.is_empty(), open) {
        (false, _) => ("✗", AnsiColor::Red),
        (true, 1..) => ("?", AnsiColor::Yellow),
        (true, 0) => ("✓", AnsiColor::Green),
    };
    let unknown = (open > 0).then(|| format!("{open} unknown"));
    let found = match (violated.is_empty(), open) {
        (false, _) => Some(told(&violated)),
        (true, 0) => Some("safe".to_owned()),
        (true, _) => None,
    };
    let said: Vec<String> = found.into_iter().chain(unknown).collect();
    let said = said.join("; ");
    let name = set_words(&first.assumptions, ttl_ticks);
    let states = results.iter().map(|result| result.states).max();
    let states = words::thousands(states.unwrap_or(0));
    let style = Style::new().fg_color(Some(colour.into()));
    let gap = " ".repeat(NAME.saturating_sub(name.width()));
    let head = format!(" {name}{gap} {states:>STATES$} states  ");
    let usual = 1 + NAME + 1 + STATES + 9 + 1;
    let others = if usual + SAID > width { 4 } else { usual };
    let said = hung(&said, 1 + head.width(), others, width);
    format!(
        "{style}{mark}{style:#}{head}{style}{}{style:#}",
        said.trim_end()
    )
}

/// The properties that are violated, the worst first.
fn violations(results: &[CheckResult]) -> Vec<&CheckResult> {
    let violated = |result: &&CheckResult| result.verdict == Verdict::Violated;
    let mut found: Vec<&CheckResult> = results.iter().filter(violated).collect();
    found.sort_by_key(|result| rank(&result.property));
    found
}

/// `two believers in 14 steps, lost update in 17`.
fn told(violated: &[&CheckResult]) -> String {
    let each = violated.iter().enumerate().map(|(place, result)| {
        let words = consequence_words(&result.property);
        let steps = result.trace.as_ref().map(|trace| trace.length() as u32);
        match (place, steps) {
            (_, None) => words,
            (0, Some(steps)) => format!("{words} in {}", words::plural(steps, "step")),
            (_, Some(steps)) => format!("{words} in {steps}"),
        }
    });
    each.collect::<Vec<_>>().join(", ")
}

/// What the whole check says: a sentence about the lock that can be quoted, which property each
/// kind of violation belongs to, and what is to be known of the verdicts. If the properties were
/// `named` by whoever asked, it begins with them: safe is said of no other.
pub fn check_summary(report: &CheckReport, named: bool, width: usize) -> String {
    let table = Overview::of_check(report);
    let mut out = String::new();
    if named {
        let asked = asked(report);
        let asked = listed(&asked, "and", asked.len());
        out += &wrapped("", &format!("Asked for {asked} alone:"), width);
    }
    for (lock, sentence) in sentences(&table) {
        if report.never_acquires() {
            out += &wrapped("", &never_acquired(&lock), width);
        }
        out += &wrapped("", &format!("{lock} {sentence}"), width);
    }
    let kinds = kinds(report);
    if !kinds.is_empty() {
        out += &wrapped("", &format!("violated: {}", kinds.join(", ")), width);
    }
    out += &unknown_lines(report);
    for warning in &report.warnings {
        // Not wrapped: a log is searched for it.
        out += &format!("warning: {}\n", words::printable(warning));
    }
    out
}

/// What is to be said before anything else of a lock that nobody acquires.
pub fn never_acquired(lock: &str) -> String {
    format!("{lock} is never acquired: that it is safe says nothing.")
}

/// The properties of the answers, each once.
fn asked(report: &CheckReport) -> Vec<&str> {
    let mut properties: Vec<&str> = Vec::new();
    for result in &report.results {
        if !properties.contains(&result.property.as_str()) {
            properties.push(&result.property);
        }
    }
    properties
}

/// `mutual-exclusion-belief (two believers)`, the worst first.
fn kinds(report: &CheckReport) -> Vec<String> {
    let violated: Vec<&str> = (violations(&report.results).iter())
        .map(|result| result.property.as_str())
        .collect();
    // Those of one property stand side by side.
    let properties = violated.chunk_by(|one, other| one == other);
    let properties = properties.map(|chunk| chunk[0]);
    let kind = |property: &str| {
        let id = words::printable(property);
        format!("{id} ({})", consequence_words(property))
    };
    properties.map(kind).collect()
}

/// The trace to be told first: of the worst violations the shortest.
pub fn worst(results: &[CheckResult]) -> Option<&CheckResult> {
    let mut shown: Vec<&CheckResult> = violations(results);
    shown.retain(|result| result.trace.is_some());
    let length = |result: &CheckResult| result.trace.as_ref().map(|trace| trace.length());
    shown.into_iter().min_by_key(|result| {
        let faults = result.assumptions.len();
        (rank(&result.property), length(result), faults)
    })
}

/// The lease in ticks, as budgets and sizes are counted.
pub(super) fn ttl_ticks(setup: &Setup) -> u32 {
    let tick = setup.tick_ms.max(1);
    let ticks = setup.ttl_ms.saturating_add(tick - 1) / tick;
    u32::try_from(ticks).unwrap_or(u32::MAX)
}
