//! Tables for the terminal.
//!
//! Plain text without colour or cursor movement: the caller prints it, pipes it
//! or puts it into a log. Verdicts carry a mark besides the word, so nothing is
//! lost without colour.

use comfy_table::{Cell as Field, CellAlignment, ContentArrangement, Table, presets};

use super::matrix::{Matrix, sizes_text};
use super::model::{Agreement, Cell, Report, verdict_mark, verdict_word};
use crate::check::{CheckReport, CheckResult, Verdict};
use crate::trace::{Assumption, words};

/// The whole matrix: one table a lock.
pub fn matrix(report: &Report) -> String {
    let matrix = Matrix::new(report);
    let mut out = String::new();
    let mut rest = matrix.rows.as_slice();
    while let Some(first) = rest.first() {
        let count = rest.iter().take_while(|r| r.lock == first.lock).count();
        let (rows, after) = rest.split_at(count);
        rest = after;
        let varied = matrix.sizes_differ(first.lock);
        let mut table = table();
        let used: Vec<usize> = (0..matrix.columns.len())
            .filter(|c| rows.iter().any(|r| r.cells[*c].is_some()))
            .collect();
        let mut header = vec![Field::new("property")];
        header.extend(used.iter().map(|c| column(matrix.columns[*c])));
        table.set_header(header);
        for row in rows {
            let mut name = words::printable(row.property);
            if varied {
                name += &format!("\n({})", sizes_text(row.sizes));
            }
            let mut fields = vec![Field::new(name)];
            fields.extend(used.iter().map(|c| match row.cells[*c] {
                Some(i) => Field::new(cell_text(&report.cells[i])),
                None => Field::new(""),
            }));
            table.add_row(fields);
        }
        out += &match varied {
            true => format!("{}\n", words::printable(first.lock)),
            false => format!(
                "{} ({})\n",
                words::printable(first.lock),
                sizes_text(first.sizes)
            ),
        };
        out += &format!("{table}\n\n");
    }
    out + &totals(report)
}

/// The last line under the tables, and of the Markdown summary.
pub(super) fn totals(report: &Report) -> String {
    let t = report.totals();
    let mut parts = vec![
        words::plural(t.cells as u32, "cell"),
        format!("{} hold", t.holds),
        format!("{} violated", t.violated),
        format!("{} unknown", t.unknown),
        format!("{} confirmed on real servers", t.confirmed),
    ];
    if t.contradicted > 0 {
        parts.push(format!("{} CONTRADICTED by real servers", t.contradicted));
    }
    if t.unexpected > 0 {
        parts.push(format!("{} NOT as expected", t.unexpected));
    }
    parts.join(", ") + "\n"
}

fn cell_text(cell: &Cell) -> String {
    let mut text = format!(
        "{} {}",
        verdict_mark(cell.verdict),
        verdict_word(cell.verdict)
    );
    if let Some(expected) = cell.expected.filter(|e| *e != cell.verdict) {
        text += &format!("\nnot {}!", verdict_word(expected));
    }
    text += &format!("\n{} states", words::thousands(cell.states));
    if let Some(evidence) = evidence(cell) {
        text += &format!("\n{evidence}");
    }
    text
}

/// What the real side says, in a few words.
pub(super) fn evidence(cell: &Cell) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(r) = cell.replays {
        parts.push(format!("replayed {}/{}", r.reproduced, r.attempts));
    }
    if let Some(w) = cell.walks {
        parts.push(match w.diverged {
            0 => words::plural(w.count, "walk"),
            n => format!("{n} of {} diverged", words::plural(w.count, "walk")),
        });
    }
    let disagree = cell.agreement() == Agreement::Contradicted;
    let mark = if disagree { "≠ " } else { "" };
    (!parts.is_empty()).then(|| format!("{mark}{}", parts.join(", ")))
}

/// The table of one check: property x assumption set with verdict and states.
pub fn check_table(report: &CheckReport) -> String {
    let mut columns: Vec<&[Assumption]> = Vec::new();
    let mut properties: Vec<&str> = Vec::new();
    for result in &report.results {
        if !columns.contains(&result.assumptions.as_slice()) {
            columns.push(&result.assumptions);
        }
        if !properties.contains(&result.property.as_str()) {
            properties.push(&result.property);
        }
    }
    let mut table = table();
    let mut header = vec![Field::new("property")];
    header.extend(columns.iter().map(|c| column(c)));
    table.set_header(header);
    for property in properties {
        let mut fields = vec![Field::new(words::printable(property))];
        for set in &columns {
            let found = report
                .results
                .iter()
                .find(|r| r.property == property && r.assumptions.as_slice() == *set);
            fields.push(Field::new(found.map_or(String::new(), result_text)));
        }
        table.add_row(fields);
    }
    format!("{table}\n")
}

fn result_text(result: &CheckResult) -> String {
    let mark = verdict_mark(result.verdict);
    let mut text = format!("{mark} {}", verdict_word(result.verdict));
    if let (Verdict::Violated, Some(trace)) = (result.verdict, &result.trace) {
        text += &format!(" in {}", words::plural(trace.steps.len() as u32, "step"));
    }
    text += &format!("\n{} states", words::thousands(result.states));
    if let Some(reason) = &result.reason {
        text += &format!("\n{}", words::shorten(&words::printable(reason), 60));
    }
    text
}

fn table() -> Table {
    let mut table = Table::new();
    // Fixed arrangement: comfy-table would ask the terminal for its width, and
    // the same report must give the same text everywhere.
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Disabled);
    table
}

fn column(set: &[Assumption]) -> Field {
    let text = match set {
        [] => "no faults".to_string(),
        set => {
            let names: Vec<String> = set.iter().map(words::assumption).collect();
            names.join("\n")
        }
    };
    Field::new(text).set_alignment(CellAlignment::Left)
}
