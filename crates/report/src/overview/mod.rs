//! The overview: which lock survives which faults, a row a lock and a cell a set of faults.
//!
//! A cell is the worst that happens there, over all properties and sizes that were asked for. It is
//! the head of every rendering, arranged here once. What a consequence is called, and how bad it is,
//! stands in the model's catalogue; a property that this version does not know counts as the worst.

use std::collections::BTreeMap;

use lockproof_model::check::Verdict;
use lockproof_model::check::frontier::is_usual;
use lockproof_model::world::catalogue::{CONSEQUENCES, Consequence, Property};
use lockproof_trace::{Assumption, words};
use unicode_width::UnicodeWidthStr;

use super::matrix::sizes_text;
use super::model::{Agreement, Cell, Report};

/// What happens to a lock under a set of faults.
#[derive(Clone, Copy, Debug)]
pub struct Met<'r> {
    /// The worst of it.
    pub what: What<'r>,
    /// A cell in [`Report::cells`] that says so.
    pub cell: usize,
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

/// The whole table: the locks that survive most come first.
#[derive(Clone, Debug)]
pub struct Overview<'r> {
    /// The sets of faults in words, smaller ones first. Budgets and sizes are told where they are not
    /// the usual ones of their lease.
    pub columns: Vec<String>,
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

impl<'r> Overview<'r> {
    /// Arranges all cells of a report.
    pub fn new(report: &'r Report) -> Overview<'r> {
        // Places by name, in order of first appearance; columns with the size of their set.
        let mut columns: Vec<(usize, String)> = Vec::new();
        let mut locks: Vec<&str> = Vec::new();
        let (mut of_set, mut of_lock) = (BTreeMap::new(), BTreeMap::new());
        let mut met: BTreeMap<(usize, usize), Met> = BTreeMap::new();
        for (at, cell) in report.cells.iter().enumerate() {
            let row = *of_lock.entry(cell.lock.as_str()).or_insert_with(|| {
                locks.push(&cell.lock);
                locks.len() - 1
            });
            let words = set_words(&cell.assumptions, cell.sizes.ttl_ticks);
            let column = *of_set.entry(words).or_insert_with_key(|words| {
                columns.push((cell.assumptions.len(), words.clone()));
                columns.len() - 1
            });
            let found = of_cell(at, cell);
            let known = met.entry((row, column)).or_insert(found);
            if found.order() < known.order() {
                *known = found;
            }
        }
        let mut order: Vec<usize> = (0..columns.len()).collect();
        order.sort_by_key(|column| columns[*column].0);
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
        let columns = order.iter().map(|column| columns[*column].1.clone());
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

fn of_cell(cell: usize, answer: &Cell) -> Met<'_> {
    let what = match (answer.agreement(), answer.verdict) {
        (Agreement::Contradicted, _) => What::Contradicted,
        (_, Verdict::Holds) => What::Safe,
        (_, Verdict::Unknown) => What::Unknown,
        (_, Verdict::Violated) => What::Breaks(&answer.property),
    };
    Met { what, cell }
}

impl Met<'_> {
    /// The worse, the smaller: a contradiction, then violations by their consequences, then what is
    /// not known.
    fn order(&self) -> (u8, Option<usize>) {
        match self.what {
            What::Contradicted => (0, None),
            What::Breaks(property) => (1, rank(property)),
            What::Unknown => (2, None),
            What::Safe => (3, None),
        }
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

/// What became of one lock at one size, in a line: `token  breaks under 9 of 15, two believers the
/// worst; 142 hold, 56 violated, 0 unknown; 12.3 s`.
pub fn line(cells: &[Cell], sizes_too: bool, seconds: f64) -> String {
    let Some(first) = cells.first() else {
        return String::new();
    };
    let mut sets: Vec<(&[Assumption], Met)> = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        let met = of_cell(at, cell);
        match sets.iter_mut().find(|(set, _)| *set == cell.assumptions) {
            Some((_, known)) if met.order() < known.order() => *known = met,
            Some(_) => {}
            None => sets.push((&cell.assumptions, met)),
        }
    }
    let of = sets.len();
    let met = sets.into_iter().map(|(_, met)| Some(met)).collect();
    let row = OverviewRow::new(&first.lock, met);
    let worst = row.worst().filter(Met::is_bad);
    let worst = worst.map_or(String::new(), |met| format!(", {} the worst", met.words()));
    let count = |verdict| cells.iter().filter(|cell| cell.verdict == verdict).count();
    let mut name = words::printable(row.lock);
    if sizes_too {
        name += &format!(" ({})", sizes_text(first.sizes));
    }
    format!(
        "{name}: breaks under {} of {of}{worst}; {} hold, {} violated, {} unknown; {seconds:.1} s",
        row.breaks,
        count(Verdict::Holds),
        count(Verdict::Violated),
        count(Verdict::Unknown),
    )
}

/// A set of faults in words: `no faults`, or the names, with budgets and sizes that are not the usual
/// ones of a lease of so many ticks.
fn set_words(set: &[Assumption], ttl_ticks: u32) -> String {
    if set.is_empty() {
        return "no faults".into();
    }
    let name = |one: &Assumption| match is_usual(one, ttl_ticks) {
        true => words::printable(&one.name),
        false => words::assumption(one),
    };
    set.iter().map(name).collect::<Vec<_>>().join(" + ")
}

/// The table for a terminal: a number a column, and below it what the numbers and the letters mean.
/// A table that is wider than `width` columns is continued in another one.
pub fn text(report: &Report, width: usize) -> String {
    let table = Overview::new(report);
    if table.rows.is_empty() {
        return String::new();
    }
    let name = table
        .rows
        .iter()
        .map(|row| words::printable(row.lock).width());
    let name = name.max().unwrap_or(0).max("lock".len());
    let counts = table.rows.iter().map(|row| row.counted().len());
    let counts = counts.max().unwrap_or(0).max("breaks".len());
    let fits = width.saturating_sub(name + counts + 2) / COLUMN;
    let mut out = String::new();
    let columns: Vec<usize> = (0..table.columns.len()).collect();
    for (part, columns) in columns
        .chunks(fits.clamp(1, columns.len().max(1)))
        .enumerate()
    {
        if part > 0 {
            out.push('\n');
        }
        let numbers: String = (columns.iter())
            .map(|at| format!("{:>COLUMN$}", at + 1))
            .collect();
        out += &format!("{:<name$}  {:>counts$}{numbers}\n", "lock", "breaks");
        for row in &table.rows {
            let cells = columns.iter().map(|at| {
                let code = row.met[*at].map_or("·", |met| met.code());
                // Marks are of several bytes and one column.
                format!("{}{code}", " ".repeat(COLUMN - code.width().min(COLUMN)))
            });
            let shown = words::printable(row.lock);
            let gap = " ".repeat(name - shown.width());
            let cells: String = cells.collect();
            out += &format!("{shown}{gap}  {:>counts$}{cells}\n", row.counted());
        }
    }
    out + "\n" + &legend(&table, width)
}

/// Columns of the terminal that a cell takes.
const COLUMN: usize = 3;

/// What the numbers and the letters of the table mean.
fn legend(table: &Overview, width: usize) -> String {
    let sets = table.columns.iter().enumerate().map(|(at, set)| {
        let (breaks, of) = table.column_counts(at);
        format!("{:>2} {set} ({breaks} of {of})", at + 1)
    });
    let letters = table.consequences();
    let letters = letters
        .iter()
        .map(|row| format!("{} {}", row.code, row.words));
    let marks = ["✓ safe", "· not asked", "? unknown"].map(str::to_owned);
    let letters: Vec<String> = letters.chain(marks).collect();
    format!(
        "{}\n{}",
        in_columns(&sets.collect::<Vec<_>>(), width),
        in_columns(&letters, width)
    )
}

/// Entries one below the other, in as many columns as fit.
fn in_columns(entries: &[String], width: usize) -> String {
    let widest = entries.iter().map(|one| one.width()).max().unwrap_or(0) + 2;
    let columns = (width.min(160) / widest).clamp(1, entries.len().max(1));
    let lines = entries.len().div_ceil(columns);
    let mut out = String::new();
    for line in 0..lines {
        let of_line: Vec<&String> = entries.iter().skip(line).step_by(lines.max(1)).collect();
        for (place, one) in of_line.iter().enumerate() {
            out += one;
            if place + 1 < of_line.len() {
                out += &" ".repeat(widest - one.width());
            }
        }
        out.push('\n');
    }
    out
}
