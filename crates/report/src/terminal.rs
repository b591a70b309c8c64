//! Tables for the terminal.
//!
//! Plain text without colour or cursor movement: the caller prints it, pipes it
//! or puts it into a log. Verdicts carry a mark besides the word, so nothing is
//! lost without colour.

use comfy_table::{ContentArrangement, Table, presets};
use lockproof_model::check::{CheckReport, CheckResult, Verdict};
use lockproof_trace::{Assumption, words};
use unicode_width::UnicodeWidthStr;

use super::frontier::frontiers;
use super::matrix::{Matrix, sizes_text};
use super::model::{Agreement, Cell, OnServer, Report, verdict_mark, verdict_word};
use super::overview;
use super::scenario::{ScenarioRow, losses_words, percent};
use super::scenario_view::model_word;
use super::sets::NO_FAULTS;

/// The whole matrix: one table a lock.
pub fn matrix(report: &Report) -> String {
    matrix_within(report, usize::MAX)
}

/// The whole matrix; a table that is wider than `width` columns is continued in
/// another one below.
pub fn matrix_within(report: &Report, width: usize) -> String {
    let matrix = Matrix::new(report);
    let mut out = String::new();
    let mut rest = matrix.rows.as_slice();
    while let Some(first) = rest.first() {
        let count = rest.iter().take_while(|r| r.lock == first.lock).count();
        let (rows, after) = rest.split_at(count);
        rest = after;
        let varied = matrix.sizes_differ(first.lock);
        let used: Vec<usize> = (0..matrix.columns.len())
            .filter(|c| rows.iter().any(|r| r.cells[*c].is_some()))
            .collect();
        let mut grid = Grid {
            header: used.iter().map(|c| column(matrix.columns[*c])).collect(),
            rows: Vec::new(),
        };
        for row in rows {
            let mut name = words::printable(row.property);
            if varied {
                name += &format!("\n({})", sizes_text(row.sizes));
            }
            let cell = |c: &usize| row.cells[*c].map(|i| cell_text(&report.cells[i]));
            let fields = used.iter().map(|c| cell(c).unwrap_or_default());
            grid.rows.push((name, fields.collect()));
        }
        out += &words::printable(first.lock);
        if !varied {
            out += &format!(" ({})", sizes_text(first.sizes));
        }
        out += &format!("\n{}\n", grid.render(width));
    }
    out + &frontier_lines(report, width)
}

/// What one look is to tell: which lock survives which faults, and the totals.
pub fn summary_within(report: &Report, width: usize) -> String {
    let table = overview::text(report, width);
    let gap = if table.is_empty() { "" } else { "\n" };
    table + gap + &totals(report).join("\n") + "\n"
}

/// What breaks each lock, and under what it is safe: a paragraph a lock, not wider than `width`.
fn frontier_lines(report: &Report, width: usize) -> String {
    let mut out = String::new();
    for found in frontiers(report) {
        let text = format!("{} {}.", found.title(), found.sentence());
        out += &wrapped("", &text, width);
        out += &wrapped("  ", &found.saving_words(), width);
        out.push('\n');
    }
    out
}

/// A paragraph of at most so many columns.
pub fn paragraph(text: &str, width: usize) -> String {
    wrapped("", text, width).trim_end().to_owned()
}

/// A text behind its head, of at most so many columns; its other lines stand below its first.
pub fn headed(head: &str, text: &str, width: usize) -> String {
    let indent = head.width();
    head.to_owned() + hung(text, indent, indent, width).trim_end()
}

/// Lines of at most so many columns where words allow it; those after the first are indented.
pub(super) fn wrapped(indent: &str, text: &str, width: usize) -> String {
    indent.to_owned() + &hung(text, indent.len(), 2, width)
}

/// As [`wrapped`], behind what takes so many columns of the first line already, with so many before
/// the others.
pub(super) fn hung(text: &str, first: usize, others: usize, width: usize) -> String {
    let mut out = String::new();
    let mut used = first;
    for (place, word) in text.split(' ').enumerate() {
        let wide = word.width();
        if place > 0 && used + 1 + wide > width {
            out = out + "\n" + &" ".repeat(others);
            used = others;
        } else if place > 0 {
            out.push(' ');
            used += 1;
        }
        out += word;
        used += wide;
    }
    out + "\n"
}

/// What the free runs of one lock saw, beside the model.
pub fn free_runs(row: &ScenarioRow) -> String {
    let mut out = String::new();
    if let Some(free) = &row.free {
        let mut table = plain(&["oracle", "free runs", "model"]);
        for rate in &free.oracles {
            let mut observed = rate.observed.words();
            if rate.unknown > 0 {
                observed += &format!(", {} unknown", rate.unknown);
            }
            let model = model_word(rate.predicted).to_owned();
            table.add_row([words::printable(&rate.oracle), observed, model]);
        }
        for (name, words) in [
            ("faults", free.strikes_words()),
            ("no evidence", free.no_evidence_words()),
        ] {
            table.add_rows(words.map(|words| [name.to_owned(), words, String::new()]));
        }
        out += &format!("{table}\n");
    }
    if !row.sweep.is_empty() {
        let mut table = plain(&["pause", "leases", "lost updates"]);
        for point in &row.sweep {
            let leases = point.pause_ms as f64 / row.ttl_ms.max(1) as f64;
            table.add_row([
                format!("{} ms", point.pause_ms),
                format!("{leases:.2}"),
                losses_words(point.losses),
            ]);
        }
        out += &format!("{table}\n");
        if let Some(published) = &row.published {
            let of = words::printable(&published.of);
            let rate = percent(published.lost_rate);
            out += &format!("published for {of} in this set-up: about {rate}\n");
        }
    }
    match row.losses_words() {
        Some(losses) => out + &words::printable(&losses) + "\n",
        None => out,
    }
}

fn plain(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().copied());
    table
}

/// The last lines under the tables, and the first of the Markdown summary.
pub(super) fn totals(report: &Report) -> Vec<String> {
    let t = report.totals();
    let mut verdicts = vec![
        format!("{} hold", t.holds),
        format!("{} violated", t.violated),
        format!("{} unknown", t.unknown),
    ];
    if t.contradicted > 0 {
        let cells = words::plural(t.contradicted as u32, "cell");
        verdicts.push(format!("{cells} CONTRADICTED by real servers"));
    }
    if t.unexpected > 0 {
        verdicts.push(format!("{} NOT as expected", t.unexpected));
    }
    let mut lines = vec![format!(
        "{} of {}: {}",
        words::plural(t.cells as u32, "cell"),
        words::plural(t.worlds as u32, "world"),
        verdicts.join(", ")
    )];
    lines.extend(t.evidence_words());
    lines.extend(report.servers_words().map(|words| words::printable(&words)));
    lines.push(format!("{} states explored", words::thousands(t.states)));
    lines
}

fn cell_text(cell: &Cell) -> String {
    let mut text = format!(
        "{} {}",
        verdict_mark(cell.verdict),
        verdict_word(cell.verdict)
    );
    if let Some(expected) = cell.expected.filter(|e| *e != cell.verdict) {
        text += &format!("\n! expected {}", verdict_word(expected));
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
        parts.push(format!("reproduced {}/{}", r.reproduced, r.attempts));
    }
    if let Some(w) = cell.walks {
        parts.push(match w.diverged {
            0 => format!("{} agree", words::plural(w.count, "walk")),
            n => format!("{n} of {} diverged", words::plural(w.count, "walk")),
        });
    }
    parts.extend(on_servers(cell));
    let disagree = cell.agreement() == Agreement::Contradicted;
    let mark = if disagree { "≠ " } else { "" };
    (!parts.is_empty()).then(|| format!("{mark}{}", parts.join(", ")))
}

/// On which of several servers it was so: `on redis 7.0.15, valkey 9.1.2`, and where it was not.
fn on_servers(cell: &Cell) -> Option<String> {
    let is_good = |one: &&OnServer| {
        let replays = one.replays.is_none_or(|all| all.reproduced == all.attempts);
        one.note.is_none() && replays && one.walks.is_none_or(|all| all.diverged == 0)
    };
    let good: Vec<String> = cell
        .on
        .iter()
        .filter(is_good)
        .map(|one| words::printable(&one.server))
        .collect();
    let others = cell.on.iter().filter(|one| !is_good(one)).map(|one| {
        let how = match (&one.note, one.replays, one.walks) {
            (Some(note), ..) => words::printable(note),
            (None, Some(all), _) => format!("reproduced {}/{}", all.reproduced, all.attempts),
            (None, None, Some(all)) => format!("{} of {} walks diverged", all.diverged, all.count),
            (None, None, None) => "not run".to_owned(),
        };
        format!("not on {} ({how})", words::printable(&one.server))
    });
    let good = (!good.is_empty()).then(|| format!("on {}", good.join(", ")));
    let said: Vec<String> = good.into_iter().chain(others).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// The table of one check, property x assumption set with verdict and states; if it is wider
/// than `width` columns, it is continued in another one below.
pub fn check_table(report: &CheckReport, width: usize) -> String {
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
    let cell = |property: &str, set: &[Assumption]| {
        let mut results = report.results.iter();
        let found = results.find(|r| r.property == property && r.assumptions.as_slice() == set);
        found.map(result_text).unwrap_or_default()
    };
    let grid = Grid {
        header: columns.iter().map(|set| column(set)).collect(),
        rows: properties
            .iter()
            .map(|property| {
                let fields = columns.iter().map(|set| cell(property, set)).collect();
                (words::printable(property), fields)
            })
            .collect(),
    };
    grid.render(width)
}

/// Why verdicts of a check are unknown, a line a reason. Not wrapped: a log is searched for it.
pub(super) fn unknown_lines(report: &CheckReport) -> String {
    let line = |(reason, sets): (&str, Vec<String>)| {
        let sets = sets.join("; ");
        format!("unknown under {sets}: {}\n", words::printable(reason))
    };
    reasons(report).into_iter().map(line).collect()
}

/// Why verdicts are unknown, each reason once with the sets under which it is.
fn reasons(report: &CheckReport) -> Vec<(&str, Vec<String>)> {
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    for result in &report.results {
        let Some(reason) = result.reason.as_deref() else {
            continue;
        };
        let place = found.iter().position(|(known, _)| *known == reason);
        let place = place.unwrap_or_else(|| {
            found.push((reason, Vec::new()));
            found.len() - 1
        });
        let set = column(&result.assumptions).replace('\n', " ");
        if !found[place].1.contains(&set) {
            found[place].1.push(set);
        }
    }
    found
}

fn result_text(result: &CheckResult) -> String {
    let mark = verdict_mark(result.verdict);
    let mut text = format!("{mark} {}", verdict_word(result.verdict));
    if let (Verdict::Violated, Some(trace)) = (result.verdict, &result.trace) {
        text += &format!(" in {}", words::plural(trace.length() as u32, "step"));
    }
    text += &format!("\n{} states", words::thousands(result.states));
    if let Some(reason) = &result.reason {
        text += &format!("\n{}", words::shorten(&words::printable(reason), 60));
    }
    text
}

fn column(set: &[Assumption]) -> String {
    match set {
        [] => NO_FAULTS.to_string(),
        set => {
            let names: Vec<String> = set.iter().map(words::assumption).collect();
            names.join("\n+ ")
        }
    }
}

/// A table before it is laid out: a header and rows that begin with a property.
struct Grid {
    header: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
}

impl Grid {
    /// One table, or as many as it takes to stay within the width; at least one
    /// column goes into each.
    fn render(&self, width: usize) -> String {
        let mut tables = Vec::new();
        let mut first = 0;
        while first < self.header.len() {
            let mut count = self.header.len() - first;
            let mut table = self.table(first, count);
            while count > 1 && widest(&table) > width {
                count -= 1;
                table = self.table(first, count);
            }
            tables.push(table + "\n");
            first += count;
        }
        tables.join("\n")
    }

    fn table(&self, first: usize, count: usize) -> String {
        let mut table = Table::new();
        // Fixed arrangement: comfy-table would ask the terminal for its width,
        // and the same report must give the same text everywhere.
        table
            .load_style(presets::UTF8_HORIZONTAL_ONLY)
            .set_content_arrangement(ContentArrangement::Disabled);
        let columns = first..first + count;
        let property = "property".to_string();
        table.set_header(std::iter::once(&property).chain(&self.header[columns.clone()]));
        for (name, fields) in &self.rows {
            table.add_row(std::iter::once(name).chain(&fields[columns.clone()]));
        }
        table.to_string()
    }
}

fn widest(table: &str) -> usize {
    table.lines().map(UnicodeWidthStr::width).max().unwrap_or(0)
}
