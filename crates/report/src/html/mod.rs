//! The report as one self-contained page.
//!
//! One file that can be mailed, attached to a CI run and opened years later: no
//! fonts, scripts or pictures from elsewhere, no data fetched. All of it is
//! rendered here, on the writing side; its script only shows, hides and marks
//! what is already there, and unpacks what is behind a cell ([`details`]). The
//! tables are there without scripts, and print.
//!
//! Nothing from a report becomes script or markup: the template escapes every
//! value, the diagram escapes its own, and the content security policy allows
//! exactly one script, ours, by its hash. A lock file that contains `</script>`
//! is just a lock file.
//!
//! What would make the page larger than [`MAX_BYTES`] is left out and says so.

mod details;

use std::collections::BTreeMap;

use base64::Engine;
use lockproof_model::world::catalogue::{Consequence, Fault, Property};
use lockproof_trace::{Assumption, words};
use minijinja::value::Serde;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::frontier::{LockFrontier, frontiers};
use super::matrix::{Matrix, sizes_text};
use super::model::Report;
use super::overview::{self, Met, Overview};
use super::page::templates;
use super::scenario_view::{ScenarioView, scenarios};
use super::sets::NO_FAULTS;
use super::{ReportError, diagram, lattice};
use details::{CellView, cell, packed, packs};

/// Diagrams and stories are left out when what is packed takes more bytes (12 MiB).
pub const MAX_BYTES: usize = 12 << 20;
/// The same for one lock, unpacked (24 MiB): a browser has to read it at once.
const MAX_MARKUP: usize = 24 << 20;
/// Drawings of which sets of faults break a lock are left out beyond this many bytes (4 MiB).
const MAX_DRAWINGS: usize = 4 << 20;
/// A single text (a lock file, the configuration) is cut beyond this (256 KiB).
const MAX_TEXT: usize = 256 << 10;

const TEMPLATE: &str = include_str!("../templates/report.html");
const DETAILS: &str = include_str!("../templates/details.html");
const MACROS: &str = include_str!("../templates/macros.html");
const SCENARIOS: &str = include_str!("../templates/scenarios.html");
const STYLE: &str = include_str!("../templates/report.css");
const SCRIPT: &str = concat!(
    include_str!("../templates/lanes.js"),
    include_str!("../templates/report.js")
);

/// Renders the page.
pub fn html(report: &Report) -> Result<String, ReportError> {
    render(report).map_err(|e| ReportError::Render {
        what: "report.html",
        message: format!("{e:#}"),
    })
}

fn render(report: &Report) -> Result<String, minijinja::Error> {
    let environment = templates(&[
        ("report.html", TEMPLATE),
        ("details.html", DETAILS),
        ("macros.html", MACROS),
        ("scenarios.html", SCENARIOS),
    ])?;
    let mut page = Page::new(report);
    page.packs = packs(&environment, report, &page.report, &page.lock_names)?;
    page.drawings = packed(&drawings(&page.frontiers))?;
    environment
        .get_template("report.html")?
        .render(Serde(&page))
}

#[derive(Serialize)]
struct Page<'a> {
    style: String,
    script: &'static str,
    script_hash: String,
    report: Head<'a>,
    totals: super::model::Totals,
    /// Each a number and what it counts.
    evidence: Vec<(String, String)>,
    states: String,
    surprises: Vec<usize>,
    first_violation: Option<usize>,
    columns: Vec<Column>,
    groups: Vec<Group<'a>>,
    lock_names: Vec<&'a str>,
    property_names: Vec<&'a str>,
    cells: Vec<CellView<'a>>,
    /// What is behind the cells of each lock, in the order of `lock_names`.
    packs: Vec<String>,
    /// What is drawn of the frontiers.
    drawings: String,
    scenarios: Vec<ScenarioView<'a>>,
    frontiers: Vec<FrontierView>,
    overview: OverviewView<'a>,
    /// Faults and properties in words.
    meanings: Vec<Meanings<'a>>,
}

/// The first thing on the page: a row a lock, a cell a set of faults.
#[derive(Serialize)]
struct OverviewView<'a> {
    columns: Vec<String>,
    rows: Vec<SurvivalView<'a>>,
    sentences: Vec<(String, String)>,
    kinds: Vec<KindView>,
}

#[derive(Serialize)]
struct SurvivalView<'a> {
    lock: &'a str,
    pack: usize,
    counted: String,
    cells: Vec<Option<MetView>>,
}

#[derive(Serialize)]
struct MetView {
    class: &'static str,
    words: String,
    cell: usize,
}

/// A kind of violation, and what to do about it.
#[derive(Serialize)]
struct KindView {
    words: &'static str,
    property: &'static str,
    cause: &'static str,
    remedy: String,
    source: &'static str,
}

impl KindView {
    fn of(row: &Consequence) -> KindView {
        KindView {
            words: row.words,
            property: row.property.info().id,
            cause: row.cause,
            // What Markdown marks as code.
            remedy: row.remedy.replace('`', ""),
            source: row.source,
        }
    }
}

#[derive(Serialize)]
struct FrontierView {
    title: String,
    sentence: String,
    saving: String,
    has_drawing: bool,
    #[serde(skip)]
    svg: String,
}

#[derive(Serialize)]
struct Head<'a> {
    tool_version: &'a str,
    seed: u64,
    command: &'a str,
    config: String,
    servers: Vec<String>,
    proxy: Option<&'a str>,
}

/// What the faults or the properties of the tables are, in words.
#[derive(Serialize)]
struct Meanings<'a> {
    title: &'static str,
    entries: Vec<Meaning<'a>>,
}

/// A plain sentence first, then the exact definition.
#[derive(Serialize)]
struct Meaning<'a> {
    name: &'a str,
    plain: &'static str,
    exact: &'a str,
}

#[derive(Serialize)]
struct Column {
    names: Vec<String>,
}

#[derive(Serialize)]
struct Group<'a> {
    lock: &'a str,
    path: &'a str,
    source: Option<usize>,
    sizes: Option<String>,
    rows: Vec<RowView<'a>>,
}

#[derive(Serialize)]
struct RowView<'a> {
    property: &'a str,
    sizes: Option<String>,
    cells: Vec<Option<usize>>,
}

impl<'a> Page<'a> {
    fn new(report: &'a Report) -> Page<'a> {
        let matrix = Matrix::new(report);
        let groups = groups(report, &matrix);
        let lock_names: Vec<&str> = groups.iter().map(|group| group.lock).collect();
        let numbers: BTreeMap<&str, usize> = lock_names
            .iter()
            .enumerate()
            .map(|(number, name)| (*name, number))
            .collect();
        let pack = |at: usize| {
            numbers
                .get(report.cells[at].lock.as_str())
                .copied()
                .unwrap_or(0)
        };
        let cells = (0..report.cells.len()).map(|at| cell(report, at, pack(at)));
        let cells: Vec<CellView> = cells.collect();
        let bad = |c: &&usize| report.cells[**c].is_bad() && report.cells[**c].expected.is_some();
        let all: Vec<usize> = (0..cells.len()).collect();
        let mut property_names: Vec<&str> = Vec::new();
        for row in &matrix.rows {
            if !property_names.contains(&row.property) {
                property_names.push(row.property);
            }
        }
        let in_order = matrix.rows.iter().flat_map(|r| r.cells.iter().flatten());
        let totals = report.totals();
        Page {
            style: format!("{STYLE}\n{}\n{}", diagram::STYLE, lattice::STYLE),
            script: SCRIPT,
            script_hash: base64::engine::general_purpose::STANDARD.encode(Sha256::digest(SCRIPT)),
            report: head(report),
            states: words::thousands(totals.states),
            evidence: totals
                .evidence_words()
                .iter()
                .map(|words| counted(words))
                .chain(report.servers_words().map(|words| (String::new(), words)))
                .collect(),
            totals,
            surprises: all.iter().filter(bad).copied().collect(),
            first_violation: in_order
                .copied()
                .find(|i| report.cells[*i].verdict == lockproof_model::check::Verdict::Violated),
            columns: matrix.columns.iter().map(|c| column(c)).collect(),
            meanings: meanings(report),
            groups,
            lock_names,
            property_names,
            cells,
            packs: Vec::new(),
            drawings: String::new(),
            scenarios: scenarios(report),
            frontiers: frontier_views(report),
            overview: overview_view(report, &numbers),
        }
    }
}

fn overview_view<'a>(report: &'a Report, packs: &BTreeMap<&str, usize>) -> OverviewView<'a> {
    let table = Overview::new(report);
    let kinds = table.consequences().into_iter().map(KindView::of).collect();
    let met = |met: Option<Met>| {
        met.map(|met| MetView {
            class: met.class(),
            words: met.words(),
            cell: met.cell,
        })
    };
    let sentences = overview::sentences(&table);
    let rows = table.rows.into_iter().map(|row| SurvivalView {
        lock: row.lock,
        pack: packs.get(row.lock).copied().unwrap_or(0),
        counted: row.counted(),
        cells: row.met.iter().copied().map(met).collect(),
    });
    let columns: Vec<String> = (table.columns.iter())
        .map(|column| column.words.clone())
        .collect();
    OverviewView {
        columns,
        sentences,
        rows: rows.collect(),
        kinds,
    }
}

/// What breaks each lock. Drawings beyond [`MAX_DRAWINGS`] bytes are left out: the sentence stays.
fn frontier_views(report: &Report) -> Vec<FrontierView> {
    let mut used = 0;
    let view = |found: &LockFrontier| {
        let svg = lattice::svg_unstyled(found);
        used += svg.len();
        FrontierView {
            title: found.title(),
            sentence: found.sentence(),
            saving: found.saving_words(),
            has_drawing: used <= MAX_DRAWINGS && !svg.is_empty(),
            svg,
        }
    };
    frontiers(report).iter().map(view).collect()
}

/// Each drawing in an element that the page finds by its number.
fn drawings(frontiers: &[FrontierView]) -> String {
    let shown = frontiers
        .iter()
        .enumerate()
        .filter(|(_, one)| one.has_drawing);
    shown
        .map(|(number, one)| format!("<div id=\"f{number}\">{}</div>", one.svg))
        .collect()
}

/// A sentence that begins with a number, without it.
fn counted(words: &str) -> (String, String) {
    let (number, rest) = words.split_once(' ').unwrap_or(("", words));
    (number.to_owned(), rest.to_owned())
}

fn head(report: &Report) -> Head<'_> {
    let environment = &report.environment;
    Head {
        tool_version: &report.tool_version,
        seed: report.seed,
        command: &report.command,
        config: cut(&report.config).0.to_string(),
        servers: environment
            .servers
            .iter()
            .map(|s| format!("{} {}", s.name, s.version))
            .collect(),
        proxy: environment.proxy.as_deref(),
    }
}

/// The report names only the faults and properties that it asks for.
fn meanings(report: &Report) -> Vec<Meanings<'_>> {
    let faults = report.assumptions.iter().map(|(name, exact)| Meaning {
        name,
        plain: Fault::parse(name).map_or("", |fault| fault.origin().plain),
        exact,
    });
    let properties = report.properties.iter().map(|(name, exact)| Meaning {
        name,
        plain: Property::parse(name).map_or("", Property::plain),
        exact,
    });
    let lists = [
        ("What each fault is", faults.collect::<Vec<_>>()),
        ("What each property asks", properties.collect()),
    ];
    let lists = lists.into_iter();
    lists
        .filter(|(_, entries)| !entries.is_empty())
        .map(|(title, entries)| Meanings { title, entries })
        .collect()
}

fn column(set: &[Assumption]) -> Column {
    Column {
        names: match set {
            [] => vec![NO_FAULTS.into()],
            set => set.iter().map(words::assumption).collect(),
        },
    }
}

fn groups<'a>(report: &'a Report, matrix: &Matrix<'a>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group> = Vec::new();
    for row in &matrix.rows {
        let varied = matrix.sizes_differ(row.lock);
        if groups.last().is_none_or(|g| g.lock != row.lock) {
            let number = groups.len();
            groups.push(Group {
                lock: row.lock,
                path: report.lock(row.lock).map_or("", |l| &l.path),
                source: report.lock(row.lock).map(|_| number),
                sizes: (!varied).then(|| sizes_text(row.sizes)),
                rows: Vec::new(),
            });
        }
        let view = RowView {
            property: row.property,
            sizes: varied.then(|| sizes_text(row.sizes)),
            cells: row.cells.clone(),
        };
        if let Some(group) = groups.last_mut() {
            group.rows.push(view);
        }
    }
    groups
}

fn meaning<'a>(report: &'a Report, property: &str) -> &'a str {
    report.properties.get(property).map_or("", String::as_str)
}

/// The text up to [`MAX_TEXT`], and whether something was cut.
fn cut(text: &str) -> (&str, bool) {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    (&text[..end], end < text.len())
}
