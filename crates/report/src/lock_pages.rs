//! A page a lock, as Markdown: how it works, what is claimed for it, under which faults it
//! holds and breaks, the shortest way to break each property, and how to repair it.
//!
//! The pages are made to be kept in a repository and compared with those of the next run.
//! So they have nothing that differs between two runs with the same verdicts: no times, no
//! versions, and no number of replays or walks, but only whether all of them confirmed what
//! the model says. The story of a trace is that of every other rendering.
//!
//! A page a property was rejected: a reader has one lock, and asks what is wrong with it.

use std::fmt::Write;

use lockproof_model::check::Verdict;
use lockproof_trace::{Assumption, Story, story, words};

use super::frontier::{LockFrontier, frontiers};
use super::lattice;
use super::markdown::{fenced, text};
use super::matrix::sizes_text;
use super::model::{Cell, Counterexample, LockText, Report, Sizes};

/// The folder of the pages, beside the other renderings.
const FOLDER: &str = "locks";
/// Stories beyond this many bytes of a page are left out.
const PAGE_MAX: usize = 600_000;
/// A longer reason for an unknown verdict is cut.
const REASON_CHARS: usize = 300;

/// All pages as (path, text): the index first. None if no lock was checked, and none of a
/// report on scenarios: its worlds are a scenario's, which is told there.
pub fn lock_pages(report: &Report) -> Vec<(String, String)> {
    let locks = checked(report);
    if locks.is_empty() || !report.scenarios.is_empty() {
        return Vec::new();
    }
    let mut pages = vec![(format!("{FOLDER}/README.md"), index(report, &locks))];
    let frontiers = frontiers(report);
    for lock in locks {
        let found = frontiers.iter().filter(|one| one.lock == lock.name);
        let found: Vec<&LockFrontier> = found.collect();
        let name = file_name(&lock.name);
        let drawings = found.iter().enumerate();
        let drawings = drawings.map(|(place, one)| {
            let path = format!("{FOLDER}/{}", drawing_name(&name, place));
            (path, lattice::svg(one) + "\n")
        });
        pages.push((format!("{FOLDER}/{name}"), page(report, lock, &found)));
        pages.extend(drawings);
    }
    pages
}

/// The file of a lock's drawing, beside its page: `token.svg`, and `token+2.svg` for its second size.
/// (No name of a lock has a `+`.)
fn drawing_name(page: &str, place: usize) -> String {
    let stem = page.strip_suffix(".md").unwrap_or(page);
    match place {
        0 => format!("{stem}.svg"),
        place => format!("{stem}+{}.svg", place + 1),
    }
}

/// What breaks the lock in a sentence for each size, and the drawing of what was checked.
fn frontier(found: &[&LockFrontier], page: &str) -> String {
    let mut out = String::new();
    for (place, one) in found.iter().enumerate() {
        let _ = write!(
            out,
            "\n**{}** {}. ({})\n\n![The sets of faults that were checked, and which of them break the lock]({})\n",
            text(&one.title()),
            text(&one.sentence()),
            text(&one.saving_words()),
            drawing_name(page, place)
        );
    }
    out
}

/// The locks that have cells, each once.
fn checked(report: &Report) -> Vec<&LockText> {
    let mut locks: Vec<&LockText> = Vec::new();
    for lock in &report.locks {
        let again = locks.iter().any(|known| known.name == lock.name);
        if !again && report.cells.iter().any(|cell| cell.lock == lock.name) {
            locks.push(lock);
        }
    }
    locks
}

/// No name of a lock has a `+`, so a lock that is called like the index takes nobody's place.
pub(super) fn file_name(lock: &str) -> String {
    match lock.eq_ignore_ascii_case("readme") {
        true => format!("{lock}+.md"),
        false => format!("{lock}.md"),
    }
}

fn index(report: &Report, locks: &[&LockText]) -> String {
    let mut out = String::from(
        "# Locks\n\nWhat each lock is, and what lockproof found. Its page has the details. \
         `lockproof run` writes these pages from the lock files and from its results: do not edit them.\n\n\
         | lock | what it is | every property holds under | the shortest way to break it |\n|---|---|---|---|\n",
    );
    for lock in locks {
        let cells = cells_of(report, lock);
        let shortest = shortest(report, &cells, |_| true);
        let shortest = shortest.map_or("none was found".into(), |(cell, found)| {
            format!(
                "{} under {}, in {}",
                text(&cell.property),
                text(&words::assumptions(&cell.assumptions)),
                words::plural(found.trace.length() as u32, "step")
            )
        });
        let safe: Vec<String> = safe_under(&cells).iter().map(|set| set_text(set)).collect();
        let _ = writeln!(
            out,
            "| [{}]({}) | {} | {} | {shortest} |",
            text(&lock.name),
            file_name(&lock.name),
            line(&lock.description),
            if safe.is_empty() {
                "nothing that was checked".into()
            } else {
                safe.join(", ")
            },
        );
    }
    out
}

fn cells_of<'r>(report: &'r Report, lock: &LockText) -> Vec<&'r Cell> {
    let cells = report.cells.iter();
    cells.filter(|cell| cell.lock == lock.name).collect()
}

/// The sets under which all that was asked holds, at every size.
fn safe_under<'r>(cells: &[&'r Cell]) -> Vec<&'r [Assumption]> {
    let holds = |set: &&[Assumption]| {
        let mut of_set = cells.iter().filter(|cell| cell.assumptions == **set);
        of_set.all(|cell| cell.verdict == Verdict::Holds)
    };
    sets(cells).into_iter().filter(|set| holds(set)).collect()
}

/// The assumption sets in order of first appearance.
fn sets<'r>(cells: &[&'r Cell]) -> Vec<&'r [Assumption]> {
    let mut sets: Vec<&[Assumption]> = Vec::new();
    for cell in cells {
        if !sets.contains(&cell.assumptions.as_slice()) {
            sets.push(&cell.assumptions);
        }
    }
    sets
}

/// The shortest counterexample of the violated cells that are `wanted`; of equal ones the first.
fn shortest<'r>(
    report: &'r Report,
    cells: &[&'r Cell],
    wanted: impl Fn(&Cell) -> bool,
) -> Option<(&'r Cell, &'r Counterexample)> {
    let violated = cells
        .iter()
        .filter(|cell| cell.verdict == Verdict::Violated && wanted(cell));
    let found = violated.filter_map(|cell| {
        let id = cell.counterexample.as_deref()?;
        Some((*cell, report.counterexample(id)?))
    });
    found.min_by_key(|(_, found)| found.trace.length())
}

fn page(report: &Report, lock: &LockText, frontiers: &[&LockFrontier]) -> String {
    let cells = cells_of(report, lock);
    let mut out = format!("# {}\n", text(&lock.name));
    paragraph(&mut out, &lock.description);
    section(&mut out, "How it works", lock.about.works.as_deref());
    section(
        &mut out,
        "What is claimed for it",
        lock.about.claims.as_deref(),
    );
    out += "\n## What lockproof found\n";
    out += &frontier(frontiers, &file_name(&lock.name));
    let mut sizes: Vec<Sizes> = Vec::new();
    for cell in &cells {
        if !sizes.contains(&cell.sizes) {
            sizes.push(cell.sizes);
        }
    }
    for sizes in sizes {
        let of_size = cells.iter().filter(|cell| cell.sizes == sizes);
        let of_size: Vec<&Cell> = of_size.copied().collect();
        out += &table(report, sizes, &of_size);
    }
    out += &evidence(&cells);
    out += &cluster(lock);
    out += &stories(report, &cells);
    section(&mut out, "How to repair it", lock.about.repair.as_deref());
    out + &source(lock)
}

fn section(out: &mut String, title: &str, body: Option<&str>) {
    if let Some(body) = body.filter(|body| !body.trim().is_empty()) {
        let _ = write!(out, "\n## {title}\n");
        paragraph(out, body);
    }
}

fn paragraph(out: &mut String, body: &str) {
    let body = line(body);
    if !body.is_empty() {
        let _ = write!(out, "\n{}\n", begun(&body));
    }
}

/// One line, in which nothing is markup.
fn line(value: &str) -> String {
    text(&value.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A line at whose beginning nothing is markup either: no list, no rule, no heading's underline.
fn begun(line: &str) -> String {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = line.split_at(digits);
    if line.starts_with(['-', '+', '=']) || (digits > 0 && rest.starts_with(['.', ')'])) {
        return format!("{number}\\{rest}");
    }
    line.to_owned()
}

fn set_text(set: &[Assumption]) -> String {
    text(&words::assumptions(set))
}

/// Property x assumption sets, in words.
fn table(report: &Report, sizes: Sizes, cells: &[&Cell]) -> String {
    let sets = sets(cells);
    let names: Vec<String> = sets.iter().map(|set| set_text(set)).collect();
    let mut out = format!(
        "\nWith {}, under {}:\n\n",
        sizes_text(sizes),
        each_of(&names)
    );
    let unknown = cells.iter().any(|cell| cell.verdict == Verdict::Unknown);
    out += "| property | safe under | breaks under |";
    out += if unknown { " unknown under |\n" } else { "\n" };
    out += "|---|---|---|";
    out += if unknown { "---|\n" } else { "\n" };
    for property in properties(cells) {
        let row = cells.iter().filter(|cell| cell.property == property);
        let row: Vec<&Cell> = row.copied().collect();
        let meaning = report.properties.get(property);
        let meaning = meaning.map_or(String::new(), |meaning| format!("<br>{}", line(meaning)));
        let _ = write!(
            out,
            "| **{}**{meaning} | {} | {} |",
            text(property),
            under(&row, Verdict::Holds, sets.len()),
            under(&row, Verdict::Violated, sets.len()),
        );
        if unknown {
            let _ = write!(out, " {} |", reasons(&row));
        }
        out.push('\n');
    }
    out
}

fn each_of(names: &[String]) -> String {
    match names {
        [one] => one.clone(),
        many => format!("each of these: {}", many.join(", ")),
    }
}

/// The sets under which the property of this row has this verdict. If it holds under most of
/// many, these are "all others": the few that are named tell more.
fn under(row: &[&Cell], verdict: Verdict, sets: usize) -> String {
    let found: Vec<String> = row
        .iter()
        .filter(|cell| cell.verdict == verdict)
        .map(|cell| set_text(&cell.assumptions))
        .collect();
    match found.len() {
        0 => "–".into(),
        all if all == sets && sets > 1 => "all of these".into(),
        most if verdict == Verdict::Holds && row.len() == sets && most > 3 && most * 2 > sets => {
            "all others".into()
        }
        _ => found.join(", "),
    }
}

/// The sets under which nothing is known, each reason once.
fn reasons(row: &[&Cell]) -> String {
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    for cell in row.iter().filter(|cell| cell.verdict == Verdict::Unknown) {
        let reason = cell.reason.as_deref().unwrap_or("no reason is stated");
        let set = set_text(&cell.assumptions);
        match found.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, sets)) => sets.push(set),
            None => found.push((reason, vec![set])),
        }
    }
    let parts: Vec<String> = found
        .iter()
        .map(|(reason, sets)| {
            let reason = line(&words::shorten(reason, REASON_CHARS));
            format!("{}, because {reason}", sets.join(", "))
        })
        .collect();
    match parts.is_empty() {
        true => "–".into(),
        false => parts.join("<br>"),
    }
}

/// What real servers say of all that is in the tables.
fn evidence(cells: &[&Cell]) -> String {
    let mut said = Vec::new();
    let violated: Vec<&&Cell> = of(cells, Verdict::Violated);
    let open: Vec<String> = violated
        .iter()
        .filter(|cell| !cell.is_reproduced())
        .map(|cell| named(cell))
        .collect();
    if !violated.is_empty() {
        said.push(match open.is_empty() {
            true => "Each violation was confirmed on a real server.".to_owned(),
            false => format!("Not confirmed on a real server: {}.", open.join("; ")),
        });
    }
    let holds = of(cells, Verdict::Holds);
    let walked = |cell: &&&Cell| cell.walks.is_some_and(|walks| walks.count > 0);
    let strayed: Vec<String> = holds
        .iter()
        .filter(|cell| cell.walks.is_some_and(|walks| walks.diverged > 0))
        .map(|cell| named(cell))
        .collect();
    if !strayed.is_empty() {
        said.push(format!(
            "Random walks through the model went another way on a real server: {}.",
            strayed.join("; ")
        ));
    } else if !holds.is_empty() && holds.iter().all(walked) {
        said.push(
            "Where a property holds, random walks through the model went the same way on a real server."
                .to_owned(),
        );
    } else if !holds.is_empty() {
        said.push("What holds was not compared with a real server everywhere.".to_owned());
    }
    match said.is_empty() {
        true => String::new(),
        false => format!("\n{}\n", said.join(" ")),
    }
}

fn of<'c, 'r>(cells: &'c [&'r Cell], verdict: Verdict) -> Vec<&'c &'r Cell> {
    let wanted = |cell: &&&Cell| cell.verdict == verdict;
    cells.iter().filter(wanted).collect()
}

fn named(cell: &Cell) -> String {
    format!(
        "{} under {}",
        text(&cell.property),
        set_text(&cell.assumptions)
    )
}

fn cluster(lock: &LockText) -> String {
    if lock.warnings.is_empty() {
        return String::new();
    }
    let lines = lock.warnings.iter().map(|one| format!("- {}\n", line(one)));
    format!("\n## Warnings\n\n{}", lines.collect::<String>())
}

/// Of each property that breaks the shortest counterexample. Properties that the same run
/// breaks share it.
fn stories(report: &Report, cells: &[&Cell]) -> String {
    let mut told: Vec<(Vec<&Cell>, &Counterexample)> = Vec::new();
    let mut missing: Vec<&str> = Vec::new();
    let violated = |property: &&str| {
        let mut of_property = cells.iter().filter(|cell| cell.property == *property);
        of_property.any(|cell| cell.verdict == Verdict::Violated)
    };
    for property in properties(cells).into_iter().filter(violated) {
        let of_property = |cell: &Cell| cell.property == property;
        let Some((cell, found)) = shortest(report, cells, of_property) else {
            missing.push(property);
            continue;
        };
        let same = |other: &Counterexample| {
            let (one, other) = (&found.trace, &other.trace);
            (&one.setup, &one.steps) == (&other.setup, &other.steps)
        };
        match told.iter_mut().find(|(_, other)| same(other)) {
            Some((cells, _)) => cells.push(cell),
            None => told.push((vec![cell], found)),
        }
    }
    if told.is_empty() && missing.is_empty() {
        return String::new();
    }
    let mut out = String::from("\n## How it breaks\n");
    for (cells, found) in &told {
        let chapter = chapter(report, cells, found);
        match out.len() + chapter.len() > PAGE_MAX {
            true => missing.extend(cells.iter().map(|cell| cell.property.as_str())),
            false => out += &chapter,
        }
    }
    if !missing.is_empty() {
        let names: Vec<String> = missing.iter().map(|name| text(name)).collect();
        let _ = write!(out, "\nNo run is shown here for {}.\n", names.join(", "));
    }
    out
}

/// The properties in order of first appearance.
fn properties<'r>(cells: &[&'r Cell]) -> Vec<&'r str> {
    let mut properties: Vec<&str> = Vec::new();
    for cell in cells {
        if !properties.contains(&cell.property.as_str()) {
            properties.push(&cell.property);
        }
    }
    properties
}

fn chapter(report: &Report, cells: &[&Cell], found: &Counterexample) -> String {
    let names: Vec<String> = cells.iter().map(|cell| text(&cell.property)).collect();
    let set = words::assumptions(&found.trace.assumptions);
    let mut out = format!("\n### {} under {}\n", names.join(", "), text(&set));
    let confirmed = match cells.iter().all(|cell| cell.is_reproduced()) {
        true => "confirmed on a real server",
        false => "not confirmed on a real server",
    };
    let _ = write!(
        out,
        "\nThe shortest run that breaks {}, {confirmed}:\n",
        if cells.len() > 1 { "them" } else { "it" }
    );
    let property = found.trace.property.as_deref().unwrap_or_default();
    let options = Story {
        meaning: report.properties.get(property).map(String::as_str),
        ..Story::default()
    };
    let _ = write!(
        out,
        "\n{}\nFind it again:\n\n{}",
        fenced(&story(&found.trace, &options), "text"),
        fenced(&cells[0].command, "sh")
    );
    out
}

/// Where the lock file is. A link from the root of lockproof's repository leads there from
/// wherever in it the pages are; other files have their path alone.
fn source(lock: &LockText) -> String {
    let file = match lock.path == lock.name {
        true => {
            let path = format!("models/{}.lua", lock.name);
            format!("[{}](/{path}), built into lockproof", text(&path))
        }
        false => text(&lock.path),
    };
    format!("\n## The lock file\n\n{file}\n")
}
