//! The handbook: what each fault and each property is and which locks break there, and which lock
//! to use. Made from the catalogue and from the verdicts of a report, so it cannot go stale.
//!
//! Its prose stands in templates, one a page and language, and asks for verdicts by name
//! (`meeting(["lease@loss"])`). What it says of a lock is in no template: a verdict that changes
//! changes the page. Prose with the names of locks in it was rejected for that reason.
//!
//! It is written for a report on built-in locks only. A user's own matrix has no reader who looks
//! for a lock, and its folder has none of the pages that the handbook links to.

pub mod chinese;
mod faults;
mod language;
mod properties;
mod verdicts;
mod which;

use lockproof_trace::words;
use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;

use language::{LANGUAGES, Language};

use super::ReportError;
use super::markdown::text;
use super::model::Report;
use super::overview;
use super::page::templates;
use verdicts::Verdicts;

/// All pages as (path, text). None of a report that is not on built-in locks alone.
///
/// # Errors
/// If a template names a fault or a property that the catalogue does not have: an error of ours.
pub fn handbook(report: &Report) -> Result<Vec<(String, String)>, ReportError> {
    if !is_published(report) {
        return Ok(Vec::new());
    }
    let verdicts = Verdicts::new(report);
    let mut pages = vec![("overview.svg".to_owned(), overview::svg(report))];
    for language in &LANGUAGES {
        pages.extend(of_language(report, &verdicts, language).map_err(|e| {
            ReportError::Render {
                what: "the handbook",
                message: format!("{e:#}"),
            }
        })?);
    }
    Ok(pages)
}

/// Whether all that was checked is built in: a report whose pages are published.
pub(super) fn is_published(report: &Report) -> bool {
    let built_in = |cell: &super::model::Cell| {
        let lock = report.lock(&cell.lock);
        lock.is_some_and(|lock| lock.path == lock.name)
    };
    report.scenarios.is_empty() && !report.cells.is_empty() && report.cells.iter().all(built_in)
}

fn of_language(
    report: &Report,
    verdicts: &Verdicts,
    language: &Language,
) -> Result<Vec<(String, String)>, minijinja::Error> {
    let mut environment = templates(&language.templates)?;
    which::answer(&mut environment, verdicts, language);
    let locks = verdicts.locks().len();
    let faults = faults::all(verdicts, language);
    let properties = properties::all(report, verdicts, language);
    let which = which::Which::new(report, language);
    Ok(vec![
        page(
            &environment,
            language,
            "faults.md",
            &Page {
                locks,
                rows: faults,
            },
        )?,
        page(
            &environment,
            language,
            "properties.md",
            &Page {
                locks,
                rows: properties,
            },
        )?,
        page(&environment, language, "which-lock.md", &which)?,
    ])
}

/// What most templates have.
#[derive(Serialize)]
struct Page<T> {
    /// Number of locks of the report.
    locks: usize,
    rows: Vec<T>,
}

fn page(
    environment: &Environment,
    language: &Language,
    name: &str,
    page: &impl Serialize,
) -> Result<(String, String), minijinja::Error> {
    let text = environment.get_template(name)?.render(Serde(page))?;
    Ok((format!("{}{name}", language.folder), text + "\n"))
}

/// Locks, with links to their pages; none if there are none.
fn named<'l>(locks: impl IntoIterator<Item = &'l str>, language: &Language) -> Option<String> {
    let page = |lock: &str| super::lock_pages::file_name(lock);
    let link = |lock: &str| format!("[{}](locks/{})", text(lock), page(lock));
    let all: Vec<String> = locks.into_iter().map(link).collect();
    (!all.is_empty()).then(|| all.join(language.comma))
}

/// The same, with a word where there are none.
fn links<'l>(locks: impl IntoIterator<Item = &'l str>, language: &Language) -> String {
    named(locks, language).unwrap_or_else(|| language.none.to_owned())
}

/// Where a sentence of the catalogue comes from, as a link: a page of the docs, or an address.
fn source(source: &str, language: &Language) -> String {
    match source.strip_prefix("docs/") {
        Some(page) => format!("[{page}]({})", language.page(page)),
        None => format!("[{}]({source})", host(source)),
    }
}

/// The name of the machine in an address.
fn host(address: &str) -> String {
    words::printable(address.split('/').nth(2).unwrap_or(address))
}
