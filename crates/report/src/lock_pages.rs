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
use lockproof_trace::{Assumption, Story, story};

use super::frontier::{LockFrontier, frontiers};
use super::handbook::is_published;
use super::lattice;
use super::lock_words::{CHINESE, ENGLISH, LockWords, fill};
use super::markdown::{fenced, text};
use super::model::{Cell, Counterexample, LockText, Report, Sizes};

/// Stories beyond this many bytes of a page are left out.
const PAGE_MAX: usize = 600_000;
/// A longer reason for an unknown verdict is cut.
const REASON_CHARS: usize = 300;

/// All pages as (path, text): the index first. None if no lock was checked, and none of a
/// report on scenarios: its worlds are a scenario's, which is told there. Published pages are
/// written in every language; who checks a lock of their own has written of it in one.
pub fn lock_pages(report: &Report) -> Vec<(String, String)> {
    let locks = checked(report);
    if locks.is_empty() || !report.scenarios.is_empty() {
        return Vec::new();
    }
    let frontiers = frontiers(report);
    let mut pages = Vec::new();
    for words in [&ENGLISH, &CHINESE] {
        if words.folder == ENGLISH.folder || is_published(report) {
            pages.extend(in_language(report, &locks, &frontiers, words));
        }
    }
    pages
}

/// The pages in one language. The drawings have no words, and stand beside the English ones.
fn in_language(
    report: &Report,
    locks: &[&LockText],
    frontiers: &[LockFrontier],
    words: &LockWords,
) -> Vec<(String, String)> {
    let folder = words.folder;
    let mut pages = vec![(format!("{folder}/README.md"), index(report, locks, words))];
    for lock in locks {
        let found = frontiers.iter().filter(|one| one.lock == lock.name);
        let found: Vec<&LockFrontier> = found.collect();
        let name = file_name(&lock.name);
        pages.push((
            format!("{folder}/{name}"),
            page(report, lock, &found, words),
        ));
        if folder != ENGLISH.folder {
            continue;
        }
        for (place, one) in found.iter().enumerate() {
            let path = format!("{folder}/{}", drawing_name(&name, place));
            pages.push((path, lattice::svg(one) + "\n"));
        }
    }
    pages
}

/// A link to the page in the other language, where there is one.
fn other_language(report: &Report, page: &str, words: &LockWords) -> String {
    match is_published(report) {
        true => fill(words.other, &[("page", page)]) + "\n\n",
        false => String::new(),
    }
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
fn frontier(found: &[&LockFrontier], page: &str, words: &LockWords) -> String {
    let mut out = String::new();
    // Drawings stand in one folder only.
    let up = words.folder.split('/').map(|_| "../").collect::<String>();
    let beside = match words.folder == ENGLISH.folder {
        true => String::new(),
        false => format!("{up}{}/", ENGLISH.folder),
    };
    for (place, one) in found.iter().enumerate() {
        let values = [
            ("title", &*text(&(words.title)(one))),
            ("sentence", &*text(&(words.sentence)(one))),
            ("saving", &*text(&(words.saving)(one))),
        ];
        let _ = write!(
            out,
            "\n{}\n\n![{}]({beside}{})\n",
            fill(words.frontier, &values),
            words.drawing,
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

fn index(report: &Report, locks: &[&LockText], words: &LockWords) -> String {
    let other = other_language(report, "README.md", words);
    let mut out = fill(words.index, &[("other", &other)]);
    for lock in locks {
        let cells = cells_of(report, lock);
        let shortest = shortest(report, &cells, |_| true);
        let shortest = shortest.map_or(words.none_found.into(), |(cell, found)| {
            let values = [
                ("property", &*text(&cell.property)),
                ("set", &*set_text(&cell.assumptions, words)),
                ("steps", &*words.steps(found.trace.length())),
            ];
            fill(words.shortest, &values)
        });
        let safe = safe_under(&cells).into_iter();
        let safe: Vec<String> = safe.map(|set| set_text(set, words)).collect();
        let _ = writeln!(
            out,
            "| [{}]({}) | {} | {} | {shortest} |",
            text(&lock.name),
            file_name(&lock.name),
            line(&(words.about)(lock).0),
            if safe.is_empty() {
                words.nothing_checked.into()
            } else {
                safe.join(words.comma)
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

fn page(
    report: &Report,
    lock: &LockText,
    frontiers: &[&LockFrontier],
    words: &LockWords,
) -> String {
    let cells = cells_of(report, lock);
    let name = file_name(&lock.name);
    let (description, about) = (words.about)(lock);
    let mut out = format!("# {}\n", text(&lock.name));
    let other = other_language(report, &name, words);
    if !other.is_empty() {
        let _ = write!(out, "\n{}\n", other.trim_end());
    }
    paragraph(&mut out, &description);
    section(&mut out, words.works, about.works.as_deref());
    section(&mut out, words.claims, about.claims.as_deref());
    let _ = write!(out, "\n## {}\n", words.found);
    out += &frontier(frontiers, &name, words);
    let mut sizes: Vec<Sizes> = Vec::new();
    for cell in &cells {
        if !sizes.contains(&cell.sizes) {
            sizes.push(cell.sizes);
        }
    }
    for sizes in sizes {
        let of_size = cells.iter().filter(|cell| cell.sizes == sizes);
        let of_size: Vec<&Cell> = of_size.copied().collect();
        out += &table(report, sizes, &of_size, words);
    }
    out += &evidence(&cells, words);
    out += &cluster(lock, words);
    out += &stories(report, &cells, words);
    section(&mut out, words.repair, about.repair.as_deref());
    out + &source(lock, words)
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

fn set_text(set: &[Assumption], words: &LockWords) -> String {
    text(&(words.set)(set))
}

/// Property x assumption sets, in words.
fn table(report: &Report, sizes: Sizes, cells: &[&Cell], words: &LockWords) -> String {
    let sets = sets(cells);
    let names: Vec<String> = sets.iter().map(|set| set_text(set, words)).collect();
    let under_these = each_of(&names, words);
    let values = [("sizes", &*(words.sizes)(sizes)), ("sets", &*under_these)];
    let mut out = format!("\n{}\n\n{}", fill(words.table, &values), words.head);
    let unknown = cells.iter().any(|cell| cell.verdict == Verdict::Unknown);
    out += if unknown { words.head_unknown } else { "" };
    out += "\n|---|---|---|";
    out += if unknown { "---|\n" } else { "\n" };
    for property in properties(cells) {
        let row = cells.iter().filter(|cell| cell.property == property);
        let row: Vec<&Cell> = row.copied().collect();
        let meaning = report.properties.get(property);
        let meaning = meaning.map_or(String::new(), |meaning| {
            format!("<br>{}", line(&(words.meaning)(property, meaning)))
        });
        let _ = write!(
            out,
            "| **{}**{meaning} | {} | {} |",
            text(property),
            under(&row, Verdict::Holds, sets.len(), words),
            under(&row, Verdict::Violated, sets.len(), words),
        );
        if unknown {
            let _ = write!(out, " {} |", reasons(&row, words));
        }
        out.push('\n');
    }
    out
}

fn each_of(names: &[String], words: &LockWords) -> String {
    match names {
        [one] => one.clone(),
        many => fill(words.each_of, &[("sets", &many.join(words.comma))]),
    }
}

/// The sets under which the property of this row has this verdict. If it holds under most of
/// many, these are "all others": the few that are named tell more.
fn under(row: &[&Cell], verdict: Verdict, sets: usize, words: &LockWords) -> String {
    let found: Vec<String> = row
        .iter()
        .filter(|cell| cell.verdict == verdict)
        .map(|cell| set_text(&cell.assumptions, words))
        .collect();
    match found.len() {
        0 => "–".into(),
        all if all == sets && sets > 1 => words.all_of_these.into(),
        most if verdict == Verdict::Holds && row.len() == sets && most > 3 && most * 2 > sets => {
            words.all_others.into()
        }
        _ => found.join(words.comma),
    }
}

/// The sets under which nothing is known, each reason once.
fn reasons(row: &[&Cell], words: &LockWords) -> String {
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    for cell in row.iter().filter(|cell| cell.verdict == Verdict::Unknown) {
        let reason = cell.reason.as_deref().unwrap_or(words.no_reason);
        let set = set_text(&cell.assumptions, words);
        match found.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, sets)) => sets.push(set),
            None => found.push((reason, vec![set])),
        }
    }
    let part = |(reason, sets): &(&str, Vec<String>)| {
        let reason = line(&lockproof_trace::words::shorten(reason, REASON_CHARS));
        let sets = sets.join(words.comma);
        fill(words.because, &[("sets", &sets), ("reason", &reason)])
    };
    let parts: Vec<String> = found.iter().map(part).collect();
    match parts.is_empty() {
        true => "–".into(),
        false => parts.join("<br>"),
    }
}

/// What real servers say of all that is in the tables.
fn evidence(cells: &[&Cell], words: &LockWords) -> String {
    let mut said = Vec::new();
    let named = |cells: &[&&Cell]| {
        let names: Vec<String> = cells.iter().map(|cell| named(cell, words)).collect();
        names.join(words.semicolon)
    };
    let violated: Vec<&&Cell> = of(cells, Verdict::Violated);
    let open = violated.iter().filter(|cell| !cell.is_reproduced());
    let open: Vec<&&Cell> = open.copied().collect();
    if !violated.is_empty() {
        said.push(match open.is_empty() {
            true => words.confirmed.to_owned(),
            false => fill(words.unconfirmed, &[("cells", &named(&open))]),
        });
    }
    let holds = of(cells, Verdict::Holds);
    let walked = |cell: &&&Cell| cell.walks.is_some_and(|walks| walks.count > 0);
    let strayed = |cell: &&&Cell| cell.walks.is_some_and(|walks| walks.diverged > 0);
    let strayed: Vec<&&Cell> = holds.iter().copied().filter(strayed).collect();
    if !strayed.is_empty() {
        said.push(fill(words.strayed, &[("cells", &named(&strayed))]));
    } else if !holds.is_empty() && holds.iter().all(walked) {
        said.push(words.walked.to_owned());
    } else if !holds.is_empty() {
        said.push(words.unwalked.to_owned());
    }
    match said.is_empty() {
        true => String::new(),
        false => format!("\n{}\n", said.join(words.space)),
    }
}

fn of<'c, 'r>(cells: &'c [&'r Cell], verdict: Verdict) -> Vec<&'c &'r Cell> {
    let wanted = |cell: &&&Cell| cell.verdict == verdict;
    cells.iter().filter(wanted).collect()
}

fn named(cell: &Cell, words: &LockWords) -> String {
    let values = [
        ("property", &*text(&cell.property)),
        ("set", &*set_text(&cell.assumptions, words)),
    ];
    fill(words.under, &values)
}

fn cluster(lock: &LockText, words: &LockWords) -> String {
    if lock.warnings.is_empty() {
        return String::new();
    }
    let lines = lock.warnings.iter().map(|one| format!("- {}\n", line(one)));
    format!("\n## {}\n\n{}", words.warnings, lines.collect::<String>())
}

/// Of each property that breaks the shortest counterexample. Properties that the same run
/// breaks share it.
fn stories(report: &Report, cells: &[&Cell], words: &LockWords) -> String {
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
    let mut out = format!("\n## {}\n", words.breaks);
    for (cells, found) in &told {
        let chapter = chapter(report, cells, found, words);
        match out.len() + chapter.len() > PAGE_MAX {
            true => missing.extend(cells.iter().map(|cell| cell.property.as_str())),
            false => out += &chapter,
        }
    }
    if !missing.is_empty() {
        let names: Vec<String> = missing.iter().map(|name| text(name)).collect();
        let values = [("properties", &*names.join(words.comma))];
        let _ = write!(out, "\n{}\n", fill(words.not_shown, &values));
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

fn chapter(report: &Report, cells: &[&Cell], found: &Counterexample, words: &LockWords) -> String {
    let names: Vec<String> = cells.iter().map(|cell| text(&cell.property)).collect();
    let values = [
        ("property", &*names.join(words.comma)),
        ("set", &*set_text(&found.trace.assumptions, words)),
    ];
    let mut out = format!("\n### {}\n", fill(words.under, &values));
    let confirmed = cells.iter().all(|cell| cell.is_reproduced());
    let run = words.run[usize::from(cells.len() > 1)][usize::from(confirmed)];
    let _ = write!(out, "\n{run}\n");
    let property = found.trace.property.as_deref().unwrap_or_default();
    let options = Story {
        meaning: report.properties.get(property).map(String::as_str),
        ..Story::default()
    };
    let _ = write!(
        out,
        "\n{}\n{}\n\n{}",
        fenced(&story(&found.trace, &options), "text"),
        words.again,
        fenced(&cells[0].command, "sh")
    );
    out
}

/// Where the lock file is. A link from the root of lockproof's repository leads there from
/// wherever in it the pages are; other files have their path alone.
fn source(lock: &LockText, words: &LockWords) -> String {
    let file = match lock.path == lock.name {
        true => {
            let path = format!("models/{}.lua", lock.name);
            let link = format!("[{}](/{path})", text(&path));
            fill(words.built_in, &[("link", &link)])
        }
        false => text(&lock.path),
    };
    format!("\n## {}\n\n{file}\n", words.file)
}
