//! The baseline: which verdict each cell is expected to have.
//!
//! A project keeps it under version control and CI compares every run with it.
//! Both directions count. A lock that breaks is news, and so is a broken lock
//! that suddenly passes: either somebody mended it, then the baseline says so
//! from now on, or the checker has gone blind. Missing and new cells are named
//! for the same reason: a check that silently does not run any more is the
//! easiest way to stay green.
//!
//! The file is TOML, one block for each lock, size and assumption set, in sorted
//! order, so that a change of one verdict is a change of one line.

use std::collections::BTreeMap;
use std::fmt;

use lockproof_model::check::Verdict;
use lockproof_trace::{Assumption, words};
use serde::Deserialize;

use super::matrix::sizes_text;
use super::model::{Cell, Report, Sizes, verdict_word};

/// The schema name that this version reads and writes.
pub const SCHEMA: &str = "lockproof.baseline/1";

/// Why a baseline cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// Not TOML, or not of this shape.
    #[error("failed to read the baseline: {0}")]
    Shape(#[from] toml::de::Error),
    /// Another version's file.
    #[error(
        "failed to read the baseline: its schema is {found}, this version reads {SCHEMA}; render a new one from a report"
    )]
    Schema { found: String },
    /// Two blocks speak of the same cell.
    #[error("failed to read the baseline: {0} stands there twice; remove one")]
    Twice(Box<Key>),
}

/// What names a cell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The lock's name.
    pub lock: String,
    /// Sizes of the check.
    pub sizes: Sizes,
    /// As (name, budget, size): a form that can be ordered.
    pub assumptions: Vec<(String, u8, u8)>,
    /// Catalogue id of the property.
    pub property: String,
}

impl Key {
    /// The key of a report's cell.
    pub fn of(cell: &Cell) -> Key {
        Key::new(&cell.lock, cell.sizes, &cell.assumptions, &cell.property)
    }

    fn new(lock: &str, sizes: Sizes, assumptions: &[Assumption], property: &str) -> Key {
        Key {
            lock: lock.into(),
            sizes,
            assumptions: assumptions
                .iter()
                .map(|a| (a.name.clone(), a.budget, a.size))
                .collect(),
            property: property.into(),
        }
    }

    /// Whether two cells differ in nothing but their property.
    fn same_block(&self, other: &Key) -> bool {
        (&self.lock, self.sizes, &self.assumptions)
            == (&other.lock, other.sizes, &other.assumptions)
    }

    fn set(&self) -> Vec<Assumption> {
        self.assumptions
            .iter()
            .map(|(name, budget, size)| Assumption {
                name: name.clone(),
                budget: *budget,
                size: *size,
            })
            .collect()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "{}: {} under {} ({})",
            words::printable(&self.lock),
            words::printable(&self.property),
            words::assumptions(&self.set()),
            sizes_text(self.sizes)
        )
    }
}

/// The expected verdicts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// Cell to expected verdict.
    pub verdicts: BTreeMap<Key, Verdict>,
}

/// One way in which a report differs from its baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Both know the cell and disagree.
    Verdict {
        cell: Key,
        expected: Verdict,
        found: Verdict,
    },
    /// The baseline knows the cell, the report does not.
    Missing { cell: Key, expected: Verdict },
    /// The report has the cell, the baseline does not know it.
    New { cell: Key, found: Verdict },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Difference::Verdict {
                cell,
                expected,
                found,
            } => {
                let kind = match found {
                    Verdict::Violated => "unexpected violation",
                    Verdict::Holds => "unexpected pass",
                    Verdict::Unknown => "no answer",
                };
                let (expected, found) = (verdict_word(*expected), verdict_word(*found));
                write!(f, "{kind}: {cell}: expected {expected}, found {found}")
            }
            Difference::Missing { cell, expected } => {
                let expected = verdict_word(*expected);
                write!(f, "missing: {cell}: expected {expected}, was not checked")
            }
            Difference::New { cell, found } => {
                let found = verdict_word(*found);
                write!(
                    f,
                    "new: {cell}: found {found}, the baseline does not know it"
                )
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "run")]
    runs: Vec<Row>,
    #[allow(dead_code)] // looked at before the rest is parsed
    schema: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    lock: String,
    clients: u8,
    nodes: u8,
    ttl_ticks: u32,
    #[serde(default)]
    assumptions: Vec<Assumption>,
    verdicts: BTreeMap<String, Verdict>,
}

impl Baseline {
    /// Reads a baseline from its TOML text.
    pub fn parse(text: &str) -> Result<Baseline, BaselineError> {
        let any: toml::Table = toml::from_str(text)?;
        let schema = any.get("schema").and_then(toml::Value::as_str);
        if schema != Some(SCHEMA) {
            let found = schema.unwrap_or("not stated").to_string();
            return Err(BaselineError::Schema { found });
        }
        let file: File = toml::from_str(text)?;
        let mut verdicts = BTreeMap::new();
        for run in file.runs {
            let sizes = Sizes {
                clients: run.clients,
                nodes: run.nodes,
                ttl_ticks: run.ttl_ticks,
            };
            for (property, verdict) in run.verdicts {
                let key = Key::new(&run.lock, sizes, &run.assumptions, &property);
                if verdicts.insert(key.clone(), verdict).is_some() {
                    return Err(BaselineError::Twice(Box::new(key)));
                }
            }
        }
        Ok(Baseline { verdicts })
    }

    /// The baseline that this report would meet.
    pub fn of(report: &Report) -> Baseline {
        Baseline {
            verdicts: report
                .cells
                .iter()
                .map(|cell| (Key::of(cell), cell.verdict))
                .collect(),
        }
    }

    /// The TOML text, in sorted order.
    pub fn render(&self) -> String {
        let mut out = format!(
            "# The expected verdict of every cell. CI compares each run with it; a difference in\n# either direction is red. Render it anew from a report rather than editing many lines.\nschema = \"{SCHEMA}\"\n"
        );
        let mut last: Option<&Key> = None;
        for (key, verdict) in &self.verdicts {
            if !last.is_some_and(|last| last.same_block(key)) {
                out += &block_head(key);
            }
            last = Some(key);
            out += &format!("{} = \"{}\"\n", name(&key.property), verdict_word(*verdict));
        }
        out
    }

    /// Every difference, in the order of the keys.
    pub fn compare(&self, report: &Report) -> Vec<Difference> {
        let found = Baseline::of(report).verdicts;
        let mut differences = Vec::new();
        let mut keys: Vec<&Key> = self.verdicts.keys().chain(found.keys()).collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            let cell = key.clone();
            differences.push(match (self.verdicts.get(key), found.get(key)) {
                (Some(expected), Some(found)) if expected != found => Difference::Verdict {
                    cell,
                    expected: *expected,
                    found: *found,
                },
                (Some(expected), None) => Difference::Missing {
                    cell,
                    expected: *expected,
                },
                (None, Some(found)) => Difference::New {
                    cell,
                    found: *found,
                },
                _ => continue,
            });
        }
        differences
    }

    /// Writes the expectations into the report's cells, for the renderings.
    pub fn apply(&self, report: &mut Report) {
        for cell in &mut report.cells {
            cell.expected = self.verdicts.get(&Key::of(cell)).copied();
        }
    }
}

fn block_head(key: &Key) -> String {
    let assumptions: Vec<String> = key
        .assumptions
        .iter()
        .map(|(n, budget, size)| {
            format!("{{ name = {}, budget = {budget}, size = {size} }}", text(n))
        })
        .collect();
    let assumptions = match assumptions.len() {
        0 | 1 => format!("[{}]", assumptions.join("")),
        _ => format!("[\n  {},\n]", assumptions.join(",\n  ")),
    };
    format!(
        "\n[[run]]\nlock = {}\nclients = {}\nnodes = {}\nttl_ticks = {}\nassumptions = {assumptions}\n[run.verdicts]\n",
        text(&key.lock),
        key.sizes.clients,
        key.sizes.nodes,
        key.sizes.ttl_ticks
    )
}

/// A TOML string. A JSON string is one too, except that TOML wants the delete
/// character escaped as well.
fn text(value: &str) -> String {
    serde_json::Value::from(value)
        .to_string()
        .replace('\u{7f}', "\\u007f")
}

/// A TOML key: bare where it may be.
fn name(value: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !value.is_empty() && value.chars().all(bare) {
        true => value.to_string(),
        false => text(value),
    }
}
