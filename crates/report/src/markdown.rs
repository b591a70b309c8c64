//! The report as Markdown, for job summaries and repositories.

use std::collections::BTreeSet;
use std::fmt::Write;

use lockproof_model::check::Verdict;
use lockproof_trace::words;

use super::frontier::frontiers;
use super::junit::{found, replay_text, told};
use super::matrix::{Matrix, sizes_text};
use super::model::{Cell, Counterexample, Report, verdict_mark, verdict_word};
use super::overview::{self, Overview};
use super::scenario::{ScenarioRow, losses_words, percent};
use super::terminal::{evidence, totals};

/// Stories beyond this many bytes are left out: hosts cut or refuse long
/// documents (a GitHub job summary ends at 1 MiB).
const STORIES_MAX: usize = 600_000;

/// The report as Markdown.
pub fn markdown(report: &Report) -> String {
    let mut out = format!(
        "# lockproof report\n\n{}\nlockproof {}, seed {}",
        headline(report),
        text(&report.tool_version),
        report.seed
    );
    for server in &report.environment.servers {
        let _ = write!(out, ", {} {}", text(&server.name), text(&server.version));
    }
    if let Some(proxy) = &report.environment.proxy {
        let _ = write!(out, ", proxy: {}", text(proxy));
    }
    let _ = write!(out, "\n\n{}\n", fenced(&report.command, "sh"));
    out += &survival(report);
    let surprises = Surprises::new(report);
    out += &surprises.markdown;
    out += &frontier_list(report);
    out += &scenarios(report);
    out += &tables(report);
    out += &stories(report, &surprises.told);
    out
}

/// The totals of what there is: of cells, of scenarios, or of both.
fn headline(report: &Report) -> String {
    let bad = report.scenarios.iter().filter(|row| row.is_bad()).count();
    let rows = format!(
        "{} of a scenario and a lock, {bad} not as expected\n",
        words::plural(report.scenarios.len() as u32, "row")
    );
    let totals = totals(report).join("  \n") + "\n";
    match (report.cells.is_empty(), report.scenarios.is_empty()) {
        (true, false) => rows,
        (false, false) => totals + "\n" + &rows,
        (_, true) => totals,
    }
}

/// Which lock survives which faults: letters, and below what they mean.
fn survival(report: &Report) -> String {
    let table = Overview::new(report);
    if table.rows.is_empty() {
        return String::new();
    }
    let columns = table.columns.iter();
    let names: Vec<String> = columns.map(|column| text(&column.words)).collect();
    let mut out = format!(
        "\n## Which lock survives which fault\n\n| lock | breaks under | {} |\n|---|---|{}\n",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    for row in &table.rows {
        let met = row.met.iter().map(|met| met.map_or("·", |met| met.code()));
        let met: Vec<&str> = met.collect();
        let (lock, counted) = (text(row.lock), row.counted());
        let _ = writeln!(out, "| {lock} | {counted} | {} |", met.join(" | "));
    }
    out += "\n✓ safe, · not asked, ? unknown";
    for kind in table.consequences() {
        let _ = write!(out, ", {} {}", kind.code, kind.words);
    }
    out += "\n\n";
    for (lock, sentence) in overview::sentences(&table) {
        let _ = writeln!(out, "- **{}** {}", text(&lock), text(&sentence));
    }
    out
}

/// What breaks each lock, a sentence each.
fn frontier_list(report: &Report) -> String {
    let found = frontiers(report);
    if found.is_empty() {
        return String::new();
    }
    let mut out = String::from("\n## What breaks each lock\n\n");
    for one in &found {
        let _ = writeln!(
            out,
            "- **{}** {}. ({})",
            text(&one.title()),
            text(&one.sentence()),
            text(&one.saving_words())
        );
    }
    out
}

/// Scenario x lock, and the runs at several pause lengths.
fn scenarios(report: &Report) -> String {
    if report.scenarios.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "\n## Scenarios\n\nA free run shows violations and never their absence.\n\n\
         | scenario | lock | the model, under the faults | control | reproduced | free runs | together |\n|---|---|---|---|---|---|---|\n",
    );
    for row in &report.scenarios {
        let replays = row.replays();
        let fields = [
            text(&row.scenario),
            text(&row.lock),
            model(row),
            match row.control_violated().as_slice() {
                [] if row.model.is_some() => "holds".into(),
                some => text(&some.join(", ")),
            },
            replays.map_or("–".into(), |all| {
                format!("{}/{}", all.reproduced, all.attempts)
            }),
            free(row),
            together(row),
        ];
        let _ = writeln!(out, "| {} |", fields.join(" | "));
    }
    for row in report.scenarios.iter().filter(|row| !row.sweep.is_empty()) {
        out += &sweep(row);
    }
    out
}

fn model(row: &ScenarioRow) -> String {
    let Some(says) = &row.model else {
        return "not asked".into();
    };
    let mut parts: Vec<String> = Vec::new();
    for verdict in [Verdict::Violated, Verdict::Unknown] {
        for property in row.with_verdict(verdict) {
            parts.push(format!("{} {}", verdict_mark(verdict), text(property)));
        }
    }
    parts.push(match says.explored {
        true => format!("{} hold", row.with_verdict(Verdict::Holds).len()),
        false => "the rest expected to hold; not explored here".into(),
    });
    parts.join("<br>")
}

fn free(row: &ScenarioRow) -> String {
    let Some(free) = &row.free else {
        return "none".into();
    };
    let rates = free.oracles.iter().map(|rate| {
        let seen = if rate.observed.events > 0 {
            "✗ observed "
        } else {
            ""
        };
        let unknown = match rate.unknown {
            0 => String::new(),
            count => format!(", {count} unknown"),
        };
        format!(
            "{}: {seen}{}{unknown}",
            text(&rate.oracle),
            text(&rate.observed.words())
        )
    });
    let losses = row.losses_words().map(|words| text(&words));
    let void = free
        .no_evidence_words()
        .map(|words| format!("**{}**", text(&words)));
    let strikes = free.strikes_words().map(|words| text(&words));
    let strikes = strikes.into_iter().chain(void);
    let parts = rates.chain(losses).chain(strikes);
    parts.collect::<Vec<_>>().join("<br>")
}

fn together(row: &ScenarioRow) -> String {
    let notes = row.notes.iter().map(|note| text(note));
    let words = std::iter::once(text(&row.agreement_words())).chain(notes);
    words.collect::<Vec<_>>().join("<br>")
}

fn sweep(row: &ScenarioRow) -> String {
    let mut out = format!(
        "\n### Lost updates against pause length: {}, {}\n\n| pause | leases | lost updates |\n|---|---|---|\n",
        text(&row.scenario),
        text(&row.lock)
    );
    for point in &row.sweep {
        let _ = writeln!(
            out,
            "| {} ms | {:.2} | {} |",
            point.pause_ms,
            point.pause_ms as f64 / row.ttl_ms.max(1) as f64,
            losses_words(point.losses)
        );
    }
    if let Some(published) = &row.published {
        let _ = writeln!(
            out,
            "\nPublished for {} in this set-up: about {} ({}).",
            text(&published.of),
            percent(published.lost_rate),
            text(&published.source)
        );
    }
    out
}

/// What is not as expected, each with its shortest trace. These are told first, so that they
/// are never the ones that are left out for their length.
struct Surprises<'a> {
    markdown: String,
    /// The counterexamples that are told there.
    told: BTreeSet<&'a str>,
}

impl<'a> Surprises<'a> {
    fn new(report: &'a Report) -> Self {
        let mut out = String::new();
        let mut told = BTreeSet::new();
        let unexpected = |cell: &&Cell| cell.expected.is_some() && cell.is_bad();
        for cell in report.cells.iter().filter(unexpected) {
            if out.is_empty() {
                out += "\n## Not as expected\n\n";
            }
            let word = verdict_word(cell.verdict);
            let what = match cell.expected.filter(|e| *e != cell.verdict) {
                Some(expected) => format!("expected {}, found **{word}**", verdict_word(expected)),
                None => format!("{word}, but **the real servers disagree**"),
            };
            let found = found(report, cell);
            let steps = found.map_or(String::new(), |found| {
                format!(" in {}", words::plural(found.trace.length() as u32, "step"))
            });
            let _ = writeln!(
                out,
                "- **{}**, {} under {}: {what}{steps}{}",
                text(&cell.lock),
                text(&cell.property),
                text(&words::assumptions(&cell.assumptions)),
                evidence(cell).map_or(String::new(), |e| format!(" ({e})")),
            );
            let new = found.filter(|found| !told.contains(found.id.as_str()));
            let Some(new) = new else { continue };
            let story = details(report, new);
            if out.len() + story.len() <= STORIES_MAX / 2 {
                out += &story;
                out.push('\n');
                told.insert(new.id.as_str());
            }
        }
        Surprises {
            markdown: out,
            told,
        }
    }
}

fn tables(report: &Report) -> String {
    let matrix = Matrix::new(report);
    let mut out = String::new();
    let mut lock = None;
    let mut used: Vec<usize> = Vec::new();
    for row in &matrix.rows {
        if lock != Some(row.lock) {
            lock = Some(row.lock);
            used = (0..matrix.columns.len())
                .filter(|c| {
                    let mut rows = matrix.rows.iter().filter(|r| r.lock == row.lock);
                    rows.any(|r| r.cells[*c].is_some())
                })
                .collect();
            let _ = write!(out, "\n## {}\n\n", text(row.lock));
            if !matrix.sizes_differ(row.lock) {
                let _ = write!(out, "{}\n\n", sizes_text(row.sizes));
            }
            let names = used
                .iter()
                .map(|c| text(&words::assumptions(matrix.columns[*c])));
            let _ = writeln!(
                out,
                "| property | {} |",
                names.collect::<Vec<_>>().join(" | ")
            );
            let _ = writeln!(out, "|---|{}", "---|".repeat(used.len()));
        }
        let mut name = text(row.property);
        if matrix.sizes_differ(row.lock) {
            name += &format!("<br>({})", sizes_text(row.sizes));
        }
        let fields = used
            .iter()
            .map(|c| row.cells[*c].map_or(String::new(), |i| field(&report.cells[i])));
        let _ = writeln!(
            out,
            "| {name} | {} |",
            fields.collect::<Vec<_>>().join(" | ")
        );
    }
    out
}

fn field(cell: &Cell) -> String {
    let mut out = format!(
        "{} {}",
        verdict_mark(cell.verdict),
        verdict_word(cell.verdict)
    );
    if let Some(expected) = cell.expected.filter(|e| *e != cell.verdict) {
        out += &format!(" **(expected {})**", verdict_word(expected));
    }
    out += &format!("<br>{} states", words::thousands(cell.states));
    if let Some(evidence) = evidence(cell) {
        out += &format!("<br>{evidence}");
    }
    if let Some(reason) = &cell.reason {
        out += &format!("<br>{}", text(&words::shorten(reason, 80)));
    }
    out
}

/// The counterexamples, but for those that stand further up.
fn stories(report: &Report, told_before: &BTreeSet<&str>) -> String {
    let mut out = String::new();
    let mut left_out = 0;
    let others = report.counterexamples.iter();
    for found in others.filter(|found| !told_before.contains(found.id.as_str())) {
        if out.is_empty() {
            out += "\n## Counterexamples\n";
        }
        let details = details(report, found);
        if out.len() + details.len() > STORIES_MAX {
            left_out += 1;
            continue;
        }
        out += &details;
    }
    if left_out > 0 {
        let _ = write!(
            out,
            "\n{} left out here for their length; report.html and report.json have them.\n",
            words::plural(left_out, "more story").replace("storys", "stories")
        );
    }
    out
}

/// A counterexample's story, folded.
fn details(report: &Report, found: &Counterexample) -> String {
    format!(
        "\n<details><summary>{}: {} violates {}{}</summary>\n\n{}\n</details>\n",
        text(&found.id),
        text(&found.trace.lock.name),
        text(found.trace.property.as_deref().unwrap_or_default()),
        match &found.replay {
            Some(replay) => format!(" ({})", text(&replay_text(replay))),
            None => String::new(),
        },
        fenced(&told(report, found), "")
    )
}

/// Text in which no character means anything to Markdown or HTML.
pub(super) fn text(value: &str) -> String {
    let mut out = String::new();
    for c in words::printable(value).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '$' | '@' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// A code block whose fence is longer than any run of backticks inside. A block keeps every
/// character, so those that a terminal would obey are spelt out.
pub(super) fn fenced(body: &str, language: &str) -> String {
    let lines: Vec<String> = body.trim_end().split('\n').map(words::printable).collect();
    let longest = body
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", lines.join("\n"))
}
