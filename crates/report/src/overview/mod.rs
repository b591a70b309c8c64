//! The overview: which lock survives which faults, a row a lock and a cell a set of faults.
//!
//! A cell is the worst that happens there, over all properties and sizes that were asked for. It is
//! the head of every rendering, arranged here once. What a consequence is called, and how bad it is,
//! stands in the model's catalogue; a property that this version does not know counts as the worst.

mod check;
mod picture;
mod sentence;
mod text;

use std::collections::BTreeMap;

use lockproof_model::check::{CheckReport, CheckResult, Verdict};
use lockproof_model::world::catalogue::{CONSEQUENCES, Consequence, Property};
use lockproof_trace::{Assumption, words};

use super::matrix::unusual_sizes;
use super::model::{Agreement, Cell, Report};
use super::sets::{NO_FAULTS, switch_words};

pub use check::{check_line, check_summary, never_acquired, worst};
pub use picture::svg;
pub use sentence::sentences;
pub use text::text;

/// One answer about a lock, of a report or of a check.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finding<'r> {
    lock: &'r str,
    property: &'r str,
    set: &'r [Assumption],
    ttl_ticks: u32,
    verdict: Verdict,
    contradicted: bool,
    /// Of the trace that violates the property.
    steps: Option<usize>,
}

/// What happens to a lock under a set of faults.
#[derive(Clone, Copy, Debug)]
pub struct Met<'r> {
    /// The worst of it.
    pub what: What<'r>,
    /// The answer that says so: a place in [`Report::cells`], or in the results of a check.
    pub cell: usize,
    /// Steps of the trace that shows it, if there is one: of several, the fewest.
    pub steps: Option<usize>,
}

/// See [`Met`].
#[derive(Clone, Copy, Debug)]
pub enum What<'r> {
    /// All properties that were asked for hold.
    Safe,
    /// None is known to be violated, and not all are known to hold.
    Unknown,
    /// A property is violated: the one whose violation is the worst.
    Breaks(&'r str),
    /// Real servers went another way than the model: a bug in one of the two.
    Contradicted,
}

/// One lock.
#[derive(Clone, Debug)]
pub struct OverviewRow<'r> {
    /// Its name.
    pub lock: &'r str,
    /// One entry a column; `None` where nothing was asked.
    pub met: Vec<Option<Met<'r>>>,
    /// So many sets break it ..
    pub breaks: usize,
    /// .. of so many that were asked for.
    pub of: usize,
}

/// A set of faults.
#[derive(Clone, Debug)]
pub struct Column {
    /// In words: budgets and sizes are told where they are not the usual ones of their lease.
    pub words: String,
    /// How many faults it has.
    pub faults: usize,
}

/// The whole table: the locks that survive most come first.
#[derive(Clone, Debug)]
pub struct Overview<'r> {
    /// The sets of faults, smaller ones first.
    pub columns: Vec<Column>,
    /// The locks.
    pub rows: Vec<OverviewRow<'r>>,
}

/// How bad a violation of this property is, and what it is called.
pub fn consequence(property: &str) -> Option<(usize, &'static Consequence)> {
    Property::parse(property).map(Property::consequence)
}

/// The same in words; a property that this version does not know is called by its own name.
pub fn consequence_words(property: &str) -> String {
    match consequence(property) {
        Some((_, row)) => row.words.to_owned(),
        None => words::printable(property),
    }
}

fn rank(property: &str) -> Option<usize> {
    consequence(property).map(|(rank, _)| rank)
}

impl<'r> Finding<'r> {
    fn of_result(report: &'r CheckReport, result: &'r CheckResult) -> Finding<'r> {
        Finding {
            lock: &report.lock.name,
            property: &result.property,
            set: &result.assumptions,
            ttl_ticks: check::ttl_ticks(&report.setup),
            verdict: result.verdict,
            contradicted: false,
            steps: result.trace.as_ref().map(|trace| trace.length()),
        }
    }

    fn of_cell(cell: &'r Cell, steps: Option<usize>) -> Finding<'r> {
        Finding {
            lock: &cell.lock,
            property: &cell.property,
            set: &cell.assumptions,
            ttl_ticks: cell.sizes.ttl_ticks,
            verdict: cell.verdict,
            contradicted: cell.agreement() == Agreement::Contradicted,
            steps,
        }
    }

    fn met(&self, cell: usize) -> Met<'r> {
        let what = match (self.contradicted, self.verdict) {
            (true, _) => What::Contradicted,
            (_, Verdict::Holds) => What::Safe,
            (_, Verdict::Unknown) => What::Unknown,
            (_, Verdict::Violated) => What::Breaks(self.property),
        };
        Met {
            what,
            cell,
            steps: self.steps,
        }
    }
}

impl<'r> Overview<'r> {
    /// Arranges all cells of a report.
    pub fn new(report: &'r Report) -> Overview<'r> {
        let traces = report.counterexamples.iter();
        let lengths: BTreeMap<&str, usize> = traces
            .map(|one| (one.id.as_str(), one.trace.length()))
            .collect();
        let steps = |cell: &Cell| {
            let id = cell.counterexample.as_deref()?;
            lengths.get(id).copied()
        };
        let cells = report.cells.iter();
        Overview::of(cells.map(|cell| Finding::of_cell(cell, steps(cell))))
    }

    /// Arranges all answers of a check.
    pub fn of_check(report: &'r CheckReport) -> Overview<'r> {
        let results = report.results.iter();
        Overview::of(results.map(|result| Finding::of_result(report, result)))
    }

    fn of(findings: impl Iterator<Item = Finding<'r>>) -> Overview<'r> {
        // Places by name, in order of first appearance; columns with the size of their set.
        let mut columns: Vec<Column> = Vec::new();
        let mut locks: Vec<&str> = Vec::new();
        let (mut of_set, mut of_lock) = (BTreeMap::new(), BTreeMap::new());
        let mut met: BTreeMap<(usize, usize), Met> = BTreeMap::new();
        for (at, finding) in findings.enumerate() {
            let row = *of_lock.entry(finding.lock).or_insert_with(|| {
                locks.push(finding.lock);
                locks.len() - 1
            });
            let words = set_words(finding.set, finding.ttl_ticks);
            let column = *of_set.entry(words).or_insert_with_key(|words| {
                columns.push(Column {
                    words: words.clone(),
                    faults: finding.set.len(),
                });
                columns.len() - 1
            });
            let found = finding.met(at);
            let known = met.entry((row, column)).or_insert(found);
            if found.order() < known.order() {
                *known = found;
            }
        }
        let mut order: Vec<usize> = (0..columns.len()).collect();
        order.sort_by_key(|column| columns[*column].faults);
        let row = |(row, lock): (usize, &&'r str)| {
            let cells = order.iter().map(|column| met.get(&(row, *column)).copied());
            OverviewRow::new(lock, cells.collect())
        };
        let mut rows: Vec<OverviewRow> = locks.iter().enumerate().map(row).collect();
        rows.sort_by(|one, other| {
            // By shares, without a division; of equal ones the lock that was asked more.
            let share = (one.breaks * other.of).cmp(&(other.breaks * one.of));
            share.then(other.of.cmp(&one.of))
        });
        let columns = order.iter().map(|column| columns[*column].clone());
        Overview {
            columns: columns.collect(),
            rows,
        }
    }

    /// Under how many of the locks' questions a column breaks: `(breaks, of)`.
    pub fn column_counts(&self, column: usize) -> (usize, usize) {
        let met = self.rows.iter().filter_map(|row| row.met[column]);
        met.fold((0, 0), |(breaks, of), met| {
            (breaks + usize::from(met.is_bad()), of + 1)
        })
    }

    /// The consequences that the table shows, the worst first.
    pub fn consequences(&self) -> Vec<&'static Consequence> {
        let shown = |row: &&Consequence| {
            let mut met = self.rows.iter().flat_map(|one| one.met.iter().flatten());
            let id = row.property.info().id;
            met.any(|met| matches!(met.what, What::Breaks(property) if property == id))
        };
        CONSEQUENCES.iter().filter(shown).collect()
    }
}

impl Met<'_> {
    /// The worse, the smaller: a contradiction, then violations by their consequences, then what is
    /// not known. Of the same the one with the shorter trace comes first.
    fn order(&self) -> (u8, Option<usize>, usize) {
        let (kind, rank) = match self.what {
            What::Contradicted => (0, None),
            What::Breaks(property) => (1, rank(property)),
            What::Unknown => (2, None),
            What::Safe => (3, None),
        };
        (kind, rank, self.steps.unwrap_or(usize::MAX))
    }

    /// Some property is violated, or contradicted.
    pub fn is_bad(&self) -> bool {
        matches!(self.what, What::Breaks(_) | What::Contradicted)
    }

    /// In a word or three.
    pub fn words(&self) -> String {
        match self.what {
            What::Safe => "safe".into(),
            What::Unknown => "unknown".into(),
            What::Contradicted => "contradicted".into(),
            What::Breaks(property) => consequence_words(property),
        }
    }

    /// In at most two columns of a terminal.
    pub fn code(&self) -> &'static str {
        match self.what {
            What::Safe => "✓",
            What::Unknown => "?",
            What::Contradicted => "≠",
            What::Breaks(property) => consequence(property).map_or("✗", |(_, row)| row.code),
        }
    }

    /// How bad it is, in a word that a style sheet knows: `safe`, `unknown`, `holders` (two hold),
    /// `stuck` (nobody gets it any more) or `minor`.
    pub fn class(&self) -> &'static str {
        match self.what {
            What::Safe => "safe",
            What::Unknown => "unknown",
            What::Contradicted => "holders",
            What::Breaks(property) => match rank(property) {
                Some(7..) => "minor",
                Some(5..) => "stuck",
                _ => "holders",
            },
        }
    }
}

impl<'r> OverviewRow<'r> {
    fn new(lock: &'r str, met: Vec<Option<Met<'r>>>) -> OverviewRow<'r> {
        let asked = met.iter().flatten();
        OverviewRow {
            breaks: asked.clone().filter(|met| met.is_bad()).count(),
            of: asked.count(),
            lock,
            met,
        }
    }

    /// The worst that happens to the lock.
    pub fn worst(&self) -> Option<Met<'r>> {
        let met = self.met.iter().flatten().copied();
        met.min_by_key(Met::order)
    }

    /// `breaks under 9 of 15`.
    pub fn counted(&self) -> String {
        format!("{} of {}", self.breaks, self.of)
    }
}

/// What became of one lock at one size, in a line: `redlock (3 nodes): breaks under 9 of 15, two
/// believers the worst; 142 hold, 56 violated; 12.3 s`. Sizes are told that are not the usual ones.
pub fn line(cells: &[Cell], seconds: f64) -> String {
    let Some(first) = cells.first() else {
        return String::new();
    };
    let table = Overview::of(cells.iter().map(|cell| Finding::of_cell(cell, None)));
    let Some(row) = table.rows.first() else {
        return String::new();
    };
    let worst = row.worst().filter(Met::is_bad);
    let worst = worst.map_or(String::new(), |met| format!(", {} the worst", met.words()));
    let count = |verdict| cells.iter().filter(|cell| cell.verdict == verdict).count();
    let mut name = words::printable(row.lock);
    let sizes = unusual_sizes(first.sizes);
    if !sizes.is_empty() {
        name += &format!(" ({sizes})");
    }
    let unknown = match count(Verdict::Unknown) {
        0 => String::new(),
        unknown => format!(", {unknown} unknown"),
    };
    format!(
        "{name}: breaks under {} of {}{worst}; {} hold, {} violated{unknown}; {seconds:.1} s",
        row.breaks,
        row.of,
        count(Verdict::Holds),
        count(Verdict::Violated),
    )
}

/// A set of faults in words: `no faults`, or the names, with budgets and sizes that are not the usual
/// ones of a lease of so many ticks.
fn set_words(set: &[Assumption], ttl_ticks: u32) -> String {
    if set.is_empty() {
        return NO_FAULTS.into();
    }
    let names = set.iter().map(|one| switch_words(one, ttl_ticks));
    names.collect::<Vec<_>>().join(" + ")
}
