//! The overview for a terminal.

use lockproof_trace::words;
use unicode_width::UnicodeWidthStr;

use super::super::model::Report;
use super::Overview;

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
    let sets = table.columns.iter().enumerate().map(|(at, column)| {
        let (breaks, of) = table.column_counts(at);
        format!("{:>2} {} ({breaks} of {of})", at + 1, column.words)
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
