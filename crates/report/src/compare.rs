//! Two locks beside each other: what each survives that the other does not.
//!
//! A row is a set of faults, and says the worst that happens to each lock under it, as the overview does
//! ([`super::overview`]). Only properties that both locks were asked for count. What is not known is never
//! taken for safe: a set of which one lock's answer is unknown is not compared.

use comfy_table::{ContentArrangement, Table, presets};
use lockproof_model::check::{CheckReport, CheckResult, Verdict};
use lockproof_trace::words;
use serde::Serialize;

use super::overview;
use super::sets::NO_FAULTS;
use super::terminal::wrapped;

/// The schema name of a comparison.
pub const SCHEMA: &str = "lockproof.compare/1";

/// Two locks, compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// How the locks are called here: by their names, or by their paths if these are the same.
    pub locks: [String; 2],
    /// The properties that both were asked for.
    pub properties: Vec<String>,
    /// Those that only the first, and only the second, was asked for: they count nowhere.
    pub asked_of_one: [Vec<String>; 2],
    /// A row a set of faults, in the order in which they were checked.
    pub rows: Vec<Row>,
    /// Sets of which both answers are known.
    pub compared: usize,
    /// Sets of which one lock's answer, or both, is unknown: they count nowhere else.
    pub not_compared: usize,
    /// Of the sets that were compared, those under which each lock is safe.
    pub safe: [usize; 2],
    /// Those under which the first is safe and the second breaks, and the other way round.
    pub safe_alone: [usize; 2],
    /// Nobody ever acquires the lock: that it is safe says nothing.
    pub never_acquired: [bool; 2],
    /// What makes the verdicts on each lock say less than they seem to.
    pub warnings: [Vec<String>; 2],
}

/// What happens to both locks under one set of faults.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The names of the faults; none is "no faults".
    pub faults: Vec<String>,
    /// To the first, and to the second.
    pub met: [Met; 2],
}

/// The worst that happens to a lock under a set of faults.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Met {
    /// Over all properties of the comparison. It is `violated` also if another one is unknown.
    pub verdict: Verdict,
    /// The violated property whose violation is the worst.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub property: Option<String>,
    /// What that violation is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consequence: Option<String>,
    /// Why it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Comparison {
    /// Compares two checks of the same sets of faults, in the same order.
    pub fn new(reports: [&CheckReport; 2]) -> Comparison {
        let asked = reports.map(asked);
        let of_both = |id: &&str| asked.iter().all(|asked| asked.contains(id));
        let both: Vec<&str> = asked[0].iter().copied().filter(of_both).collect();
        let rest = |one: usize| {
            let rest = asked[one].iter().filter(|id| !of_both(id));
            rest.map(|id| (*id).to_owned()).collect()
        };
        let sets = reports.map(sets);
        let pairs = sets[0].iter().zip(&sets[1]);
        let rows: Vec<Row> = pairs
            .map(|(one, other)| Row {
                faults: faults(one),
                met: [met(one, &both), met(other, &both)],
            })
            .collect();
        let known: Vec<&Row> = rows.iter().filter(|row| row.is_known()).collect();
        let count = |fits: &dyn Fn(&Row) -> bool| known.iter().filter(|row| fits(row)).count();
        let safe = |one: usize| count(&|row| row.met[one].verdict == Verdict::Holds);
        let safe_alone = |one: usize| count(&|row| row.is_safe_alone(one));
        Comparison {
            schema: SCHEMA,
            locks: called(reports),
            asked_of_one: [rest(0), rest(1)],
            compared: known.len(),
            not_compared: rows.len() - known.len(),
            safe: [safe(0), safe(1)],
            safe_alone: [safe_alone(0), safe_alone(1)],
            properties: both.into_iter().map(str::to_owned).collect(),
            rows,
            never_acquired: reports.map(CheckReport::never_acquires),
            warnings: reports.map(|report| report.warnings.clone()),
        }
    }
}

impl Row {
    /// Both answers are known.
    fn is_known(&self) -> bool {
        self.met.iter().all(|met| met.verdict != Verdict::Unknown)
    }

    /// The one lock is safe, and the other is known to break.
    fn is_safe_alone(&self, one: usize) -> bool {
        let (own, other) = (self.met[one].verdict, self.met[1 - one].verdict);
        own == Verdict::Holds && other == Verdict::Violated
    }

    /// The locks differ here, or nobody knows whether they do.
    fn differs(&self) -> bool {
        let [one, other] = &self.met;
        !self.is_known() || one.consequence != other.consequence
    }

    fn name(&self) -> String {
        match self.faults.as_slice() {
            [] => NO_FAULTS.into(),
            faults => faults.join(" + "),
        }
    }
}

/// The properties, in the catalogue's order.
fn asked(report: &CheckReport) -> Vec<&str> {
    let first = sets(report).first().copied().unwrap_or_default();
    let ids = first.iter().map(|result| result.property.as_str());
    ids.collect()
}

/// The results, a slice a set of faults.
fn sets(report: &CheckReport) -> Vec<&[CheckResult]> {
    let same = |one: &CheckResult, other: &CheckResult| one.assumptions == other.assumptions;
    report.results.chunk_by(same).collect()
}

fn faults(set: &[CheckResult]) -> Vec<String> {
    let first = set.first().into_iter();
    first
        .flat_map(|result| &result.assumptions)
        .map(|one| words::printable(&one.name))
        .collect()
}

fn met(set: &[CheckResult], properties: &[&str]) -> Met {
    let counts = |result: &&CheckResult| properties.contains(&result.property.as_str());
    let of = |verdict: Verdict| {
        let results = set.iter().filter(counts);
        results.filter(move |result| result.verdict == verdict)
    };
    let rank = |result: &&CheckResult| overview::consequence(&result.property).map(|row| row.0);
    let worst = of(Verdict::Violated).min_by_key(rank);
    let open = of(Verdict::Unknown).next().filter(|_| worst.is_none());
    Met {
        verdict: match (worst, open) {
            (Some(_), _) => Verdict::Violated,
            (None, Some(_)) => Verdict::Unknown,
            (None, None) => Verdict::Holds,
        },
        property: worst.map(|result| result.property.clone()),
        consequence: worst.map(|result| overview::consequence_words(&result.property)),
        reason: open.and_then(|result| result.reason.clone()),
    }
}

/// Names that tell the two apart, if their files can be told apart.
fn called(reports: [&CheckReport; 2]) -> [String; 2] {
    let same = reports[0].lock.name == reports[1].lock.name;
    reports.map(|report| {
        words::printable(match same {
            true => &report.lock.path,
            false => &report.lock.name,
        })
    })
}

/// For a terminal: the rows that differ, or all of them, and what they come to in words.
pub fn text(found: &Comparison, width: usize, all: bool) -> String {
    let (differing, same): (Vec<&Row>, Vec<&Row>) =
        found.rows.iter().partition(|row| row.differs());
    let mut out = String::new();
    let shown: Vec<&Row> = match all {
        true => differing.iter().chain(&same).copied().collect(),
        false => differing,
    };
    if !shown.is_empty() {
        out += &format!("{}\n\n", table(found, &shown, width));
    }
    if !all && !same.is_empty() {
        let others = if shown.is_empty() { "" } else { "other " };
        out += &format!(
            "The same happens to both under {} {others}{} (--verbose shows them).\n",
            same.len(),
            sets_word(same.len())
        );
    }
    let mut lines = sentences(found);
    lines
        .iter_mut()
        .for_each(|line| *line = wrapped("", line, width));
    out + &lines.concat()
}

fn table(found: &Comparison, rows: &[&Row], width: usize) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width.min(usize::from(u16::MAX)) as u16);
    let [first, second] = &found.locks;
    table.set_header(["faults", first, second]);
    for row in rows {
        let [first, second] = &row.met;
        table.add_row([row.name(), met_words(first), met_words(second)]);
    }
    table.trim_fmt()
}

fn met_words(met: &Met) -> String {
    match (&met.consequence, &met.reason) {
        (Some(consequence), _) => format!("✗ {consequence}"),
        (None, Some(reason)) => format!("? unknown: {reason}"),
        (None, None) if met.verdict == Verdict::Unknown => "? unknown".into(),
        (None, None) => "✓ safe".into(),
    }
}

fn sentences(found: &Comparison) -> Vec<String> {
    let never = found.locks.iter().zip(found.never_acquired);
    let never: Vec<String> = never
        .filter(|(_, never)| *never)
        .map(|(lock, _)| overview::never_acquired(lock))
        .collect();
    let mut lines = match found.compared {
        0 => Vec::new(),
        _ if !never.is_empty() => never,
        _ => vec![balance(found), direction(found, 0), direction(found, 1)],
    };
    if found.not_compared > 0 {
        lines.push(format!(
            "Not compared: {}, where it is unknown what happens to one of them.",
            counted(found.not_compared)
        ));
    }
    for (lock, properties) in found.locks.iter().zip(&found.asked_of_one) {
        if !properties.is_empty() {
            let properties = properties.join(", ");
            lines.push(format!(
                "Asked of {lock} alone, and not compared: {properties}."
            ));
        }
    }
    for (lock, warnings) in found.locks.iter().zip(&found.warnings) {
        let warnings = warnings.iter().map(|warning| words::printable(warning));
        lines.extend(warnings.map(|warning| format!("warning: {lock}: {warning}")));
    }
    lines
}

/// Under which sets this one is safe and the other one breaks.
fn direction(found: &Comparison, one: usize) -> String {
    let (lock, other) = (&found.locks[one], &found.locks[1 - one]);
    let rows = found.rows.iter().filter(|row| row.is_safe_alone(one));
    let names: Vec<String> = rows.map(Row::name).collect();
    let that = match names.len() {
        0 => return format!("{lock} is safe under no set of faults that breaks {other}."),
        1 => "that breaks",
        _ => "that break",
    };
    format!(
        "{lock} is safe under {} {that} {other}: {}.",
        counted(names.len()),
        names.join(", ")
    )
}

/// Which one is safe under more of the sets that were compared.
fn balance(found: &Comparison) -> String {
    let (one, other) = match found.safe[1] > found.safe[0] {
        true => (1, 0),
        false => (0, 1),
    };
    let [more, less] = [one, other].map(|lock| (found.safe[lock], &found.locks[lock]));
    let of = found.compared;
    match more.0 - less.0 {
        0 => format!(
            "{} and {} are safe under as many sets of faults: {} of {of}.",
            more.1, less.1, more.0
        ),
        by => format!(
            "{} is safe under {by} more {} than {}: {} of {of} against {}.",
            more.1,
            sets_word(by),
            less.1,
            more.0,
            less.0
        ),
    }
}

fn counted(sets: usize) -> String {
    format!("{sets} {}", sets_word(sets))
}

fn sets_word(sets: usize) -> &'static str {
    match sets {
        1 => "set of faults",
        _ => "sets of faults",
    }
}
