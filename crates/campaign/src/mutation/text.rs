//! The answers for people: a line of numbers, then the questions by their lines.

use std::fmt::Write;

use lockproof_model::lock::{Mutant, Operator};
use lockproof_trace::{Assumption, words};

use super::{Findings, Gain, Outcome, Row, SetRow};

/// Longer pieces of a lock file are cut, in characters.
const PIECE_CHARS: usize = 60;

/// The same of reasons.
const REASON_CHARS: usize = 160;

/// What is asked of the author of a lock that behaves as well with this change.
pub(super) fn question(mutant: &Mutant) -> String {
    let (before, after) = (piece(&mutant.before), piece(&mutant.after));
    match mutant.operator {
        Operator::Order => "the order of this statement and the next: does it matter?".to_owned(),
        Operator::Condition => {
            let always = if mutant.after == "true" {
                "always"
            } else {
                "never"
            };
            format!("`{before}`: what if it is {always} true?")
        }
        _ if after.is_empty() => {
            // The comma before an option, or the `=` behind a name.
            let dropped = before.trim_start_matches([',', '=', ' ']);
            format!("without `{dropped}`: is it needed?")
        }
        _ => format!("with `{after}` in place of `{before}`: is that meant?"),
    }
}

/// A piece of a file in one line, and not too long.
fn piece(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&line, PIECE_CHARS)
}

/// The text as a terminal may have it, of so many characters at most.
fn cut(text: &str, most: usize) -> String {
    let shown = words::printable(text);
    if shown.chars().count() <= most {
        return shown;
    }
    let short: String = shown.chars().take(most - 1).collect();
    format!("{short}…")
}

/// All answers, as the terminal shows them.
pub fn text(findings: &Findings) -> String {
    let mut out = heading(findings);
    if findings.sets.iter().all(|row| row.left_out.is_some()) {
        return out;
    }
    let survive = |row: &&Row| matches!(row.outcome, Outcome::Survives { .. });
    out += &section(
        "No property notices these changes:",
        findings.mutants.iter().filter(survive),
    );
    let better = |row: &&Row| matches!(row.outcome, Outcome::Better { .. });
    out += &section(
        "With these changes nothing is worse, and properties hold that the lock violates:",
        findings.mutants.iter().filter(better),
    );
    let open = |row: &&Row| {
        matches!(
            row.outcome,
            Outcome::OutOfBounds { .. } | Outcome::Unknown { .. }
        )
    };
    out += &section(
        "Of these changes nothing is known:",
        findings.mutants.iter().filter(open),
    );
    out
}

fn heading(findings: &Findings) -> String {
    let summary = &findings.summary;
    let mut out = format!(
        "{}: {} mutants: {} caught, {} refused, {} out of bounds, {} unknown, {} equivalent, {} better, {} survive\n",
        words::printable(&findings.lock),
        summary.mutants,
        summary.caught,
        summary.refused,
        summary.out_of_bounds,
        summary.unknown,
        summary.equivalent,
        summary.better,
        summary.survive,
    );
    let (used, left): (Vec<&SetRow>, Vec<&SetRow>) =
        (findings.sets.iter()).partition(|row| row.left_out.is_none());
    let count = |of: fn(&SetRow) -> usize| used.iter().map(|row| of(row)).sum::<usize>();
    let _ = writeln!(
        out,
        "compared under {}, in which {} verdicts of the lock are `holds`",
        match used.len() {
            1 => "1 assumption set".to_owned(),
            sets => format!("{sets} assumption sets"),
        },
        count(|row| row.holds),
    );
    let unknown = count(|row| row.unknown);
    if unknown > 0 {
        let _ = writeln!(
            out,
            "{unknown} verdicts of the lock are unknown: nothing is compared with them"
        );
    }
    for row in left {
        let reason = row.left_out.as_deref().unwrap_or_default();
        let set = set_name(&row.assumptions);
        let _ = writeln!(
            out,
            "not compared under {set}: {}",
            words::printable(reason)
        );
    }
    out
}

/// A heading, and rows below the lines that they change.
fn section<'r>(heading: &str, rows: impl Iterator<Item = &'r Row>) -> String {
    let mut out = String::new();
    let mut last = None;
    for row in rows {
        if out.is_empty() {
            out = format!("\n{heading}\n");
        }
        let place = (&row.file, row.line);
        if last != Some(place) {
            let file = words::printable(&row.file);
            let _ = writeln!(
                out,
                "{file}:{}  {}",
                row.line,
                words::printable(&row.source)
            );
            last = Some(place);
        }
        let _ = writeln!(out, "    {}", said(row));
    }
    out
}

fn said(row: &Row) -> String {
    match &row.outcome {
        Outcome::Survives { question, .. } => question.clone(),
        Outcome::Better { question, holds } => {
            format!("{question}\n        holds then: {}", gains(holds))
        }
        Outcome::OutOfBounds { reason } | Outcome::Unknown { reason } => {
            let (before, after) = (piece(&row.before), piece(&row.after));
            let change = match after.is_empty() {
                true => format!("without `{before}`"),
                false => format!("with `{after}` in place of `{before}`"),
            };
            format!("{change}\n        {}", cut(reason, REASON_CHARS))
        }
        _ => String::new(),
    }
}

/// Each property once, with the sets under which it holds then.
fn gains(holds: &[Gain]) -> String {
    /// More sets are counted.
    const SETS_MAX: usize = 3;
    let mut properties: Vec<(&str, Vec<String>)> = Vec::new();
    for gain in holds {
        let set = set_name(&gain.assumptions);
        match properties.iter_mut().find(|(id, _)| *id == gain.property) {
            Some((_, sets)) => sets.push(set),
            None => properties.push((&gain.property, vec![set])),
        }
    }
    let told = properties.iter().map(|(id, sets)| match sets.len() {
        0..=SETS_MAX => format!("{id} under {}", sets.join(", ")),
        more => format!("{id} under {more} sets"),
    });
    told.collect::<Vec<_>>().join("; ")
}

/// `no faults`, or the faults.
fn set_name(set: &[Assumption]) -> String {
    match set {
        [] => "no faults".to_owned(),
        set => {
            let names = set.iter().map(|one| one.name.as_str());
            names.collect::<Vec<_>>().join(" + ")
        }
    }
}
