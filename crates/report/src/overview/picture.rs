//! The overview as a picture of its own: for a README, where no style sheet of a page reaches.

use std::fmt::Write;

use lockproof_trace::words;

use super::super::diagram::escape;
use super::super::model::Report;
use super::{Met, Overview};

const STYLE: &str = include_str!("../templates/overview.css");

/// Pixels: of a cell, of a row, of a character at most (of a bold one too), and around all.
const CELL: usize = 26;
const ROW: usize = 18;
const CHAR: usize = 7;
const BOLD: usize = 8;
const MARGIN: usize = 10;
/// From the lower edge of a row up to the line that its text stands on.
const BASE: usize = 5;
/// Entries of the legend in a row.
const LEGEND: usize = 4;
/// Marks of cells without a violation: how each is coloured, its code, what it means.
const MARKS: [(&str, &str, &str); 3] = [
    ("safe", "✓", "safe: all that was asked holds"),
    ("none", "·", "not asked"),
    ("unknown", "?", "unknown"),
];

/// A document of its own, light or dark as its reader prefers. Empty if nothing was asked.
pub fn svg(report: &Report) -> String {
    let table = Overview::new(report);
    match table.rows.is_empty() {
        true => String::new(),
        false => Picture::new(&table).draw(),
    }
}

struct Picture<'t, 'r> {
    table: &'t Overview<'r>,
    /// Where the counts begin, and the cells.
    counts: usize,
    cells: usize,
    /// Where the rows begin, and the legend.
    rows: usize,
    legend: usize,
    /// Colour, code and words of each mark of the legend.
    marks: Vec<(&'static str, &'static str, &'static str)>,
}

impl<'t, 'r> Picture<'t, 'r> {
    fn new(table: &'t Overview<'r>) -> Picture<'t, 'r> {
        let names = table.rows.iter().map(|row| words::printable(row.lock));
        let columns = table.columns.iter().map(|column| column.words.clone());
        let counts = MARGIN + BOLD * longest(names).max("lock".len());
        let rows = MARGIN + CHAR * longest(columns);
        let violations = table.consequences();
        let violations =
            (violations.iter()).map(|one| (class_of(table, one.words), one.code, one.words));
        Picture {
            table,
            counts,
            cells: counts + CHAR * "00 of 00 ".len(),
            rows,
            legend: rows + ROW * table.rows.len() + MARGIN,
            marks: violations.chain(MARKS).collect(),
        }
    }

    fn draw(&self) -> String {
        let width = self.width();
        let height = self.legend + ROW * self.marks.len().div_ceil(LEGEND) + MARGIN;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" aria-labelledby=\"t\">\
             <title id=\"t\">{}</title>\n<style>{STYLE}</style>\n\
             <rect class=\"page\" width=\"{width}\" height=\"{height}\"/>\n",
            escape(&self.caption()),
        );
        self.draw_head(&mut out);
        self.draw_rows(&mut out);
        self.draw_legend(&mut out);
        out + "</svg>\n"
    }

    fn width(&self) -> usize {
        self.cells + CELL * self.table.columns.len() + MARGIN
    }

    fn caption(&self) -> String {
        let safest = self.table.rows.first().map_or("", |row| row.lock);
        format!(
            "{} locks under {} sets of faults: the worst that happens in each. {} survives most.",
            self.table.rows.len(),
            self.table.columns.len(),
            words::printable(safest)
        )
    }

    fn draw_head(&self, out: &mut String) {
        let base = self.rows - BASE;
        label(out, (MARGIN, base), "head", "lock");
        label(out, (self.counts, base), "head", "breaks");
        for (at, column) in self.table.columns.iter().enumerate() {
            let x = self.cells + CELL * at + CELL / 2 + 4;
            let name = escape(&column.words);
            let _ = writeln!(
                out,
                "<text transform=\"translate({x} {base}) rotate(-90)\">{name}</text>"
            );
        }
    }

    fn draw_rows(&self, out: &mut String) {
        for (at, row) in self.table.rows.iter().enumerate() {
            let top = self.rows + ROW * at;
            let base = top + ROW - BASE;
            label(out, (MARGIN, base), "lock", &words::printable(row.lock));
            label(out, (self.counts, base), "count", &row.counted());
            for (column, met) in row.met.iter().enumerate() {
                let (class, code) = met.map_or(("none", "·"), |met| (met.class(), met.code()));
                mark(out, (self.cells + CELL * column, top), class, code);
            }
        }
    }

    fn draw_legend(&self, out: &mut String) {
        let step = (self.width() - 2 * MARGIN) / LEGEND;
        for (at, (class, code, meaning)) in self.marks.iter().enumerate() {
            let (x, y) = (
                MARGIN + step * (at % LEGEND),
                self.legend + ROW * (at / LEGEND),
            );
            mark(out, (x, y), class, code);
            label(out, (x + CELL + 6, y + ROW - BASE), "meaning", meaning);
        }
    }
}

/// Characters of the longest text.
fn longest(texts: impl Iterator<Item = String>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}

fn label(out: &mut String, (x, y): (usize, usize), class: &str, text: &str) {
    let text = escape(text);
    let _ = writeln!(
        out,
        "<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{text}</text>"
    );
}

fn mark(out: &mut String, (x, y): (usize, usize), class: &str, code: &str) {
    let (middle, base) = (x + CELL / 2, y + ROW - BASE);
    let (width, height) = (CELL - 1, ROW - 1);
    let _ = writeln!(
        out,
        "<g class=\"{class}\"><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>\
         <text x=\"{middle}\" y=\"{base}\">{code}</text></g>"
    );
}

/// How the cells are coloured that are called so.
fn class_of(table: &Overview, words: &str) -> &'static str {
    let mut met = table.rows.iter().flat_map(|row| row.met.iter().flatten());
    met.find(|met| met.words() == words)
        .map_or("minor", Met::class)
}
