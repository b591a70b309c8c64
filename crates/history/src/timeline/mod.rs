//! Who waited and held when, which faults were in force, how long operations
//! took: a history made small enough to be drawn.
//!
//! It is built in one pass after the judgement, which says beforehand how long
//! the run was, how many operations it had and where the violations are. So
//! the pass can decide at once what to keep: everything in a small history; in
//! a large one every mark near a violation, and elsewhere, for each client and
//! each slice of time, only the shares of it that were spent waiting and
//! holding. Memory has a bound that no history can exceed ([`MARKS_MAX`],
//! [`CLIENTS_MAX`], [`FAULTS_MAX`], [`VIOLATIONS_MAX`]); what was left out is
//! counted, and a page says so.
//!
//! A hold is what the oracle of belief takes for one: from an acquire's success
//! to the release's call, the client's death or the word that the lock is lost.

mod faults;
mod latency;
mod rows;

use std::collections::BTreeMap;
use std::io::BufRead;

use super::judge::{FindingVerdict, Judgement};
use super::reader::{ReadError, Reader};
use super::{Event, Process};

pub use faults::FaultBand;
pub use latency::{Latency, LatencyOf};
pub use rows::{ClientRow, Mark, MarkKind, Share};

/// A history with no more operations of clients than this is kept whole.
pub const WHOLE_OPERATIONS: u64 = 20_000;
/// Marks that are kept one by one, in all rows together.
pub const MARKS_MAX: u64 = 60_000;
/// Clients that have a row; the first by number.
pub const CLIENTS_MAX: usize = 64;
/// Faults that have a band; the first.
pub const FAULTS_MAX: usize = 1_000;
/// Violations that have a mark; the first.
pub const VIOLATIONS_MAX: usize = 500;
/// Into how many slices a run is divided, for shares and for latencies.
pub const SLICES: u64 = 480;
/// How far around a violation marks are kept at most, in leases.
const DETAIL_LEASES: u64 = 2;
/// And at least, in ns.
const DETAIL_NS_MIN: u64 = 50_000_000;

/// A history, ready to be drawn. All times are ns since the run's start.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// From 0 to the last event.
    pub duration_ns: u64,
    /// The length of a slice.
    pub slice_ns: u64,
    /// How many operations clients invoked.
    pub operations: u64,
    /// One row a client, by number.
    pub clients: Vec<ClientRow>,
    /// Clients without a row.
    pub clients_hidden: u64,
    /// By their start.
    pub faults: Vec<FaultBand>,
    /// Faults without a band.
    pub faults_hidden: u64,
    /// By their time.
    pub violations: Vec<ViolationMark>,
    /// Violations that the judgement counts and that have no mark.
    pub violations_hidden: u64,
    /// Latencies of acquire and release.
    pub latency: Latency,
    /// How many marks there are.
    pub marks: u64,
    /// Where every mark was kept.
    pub detail: Detail,
}

/// Where the marks of a [`Timeline`] are complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Everywhere.
    Whole,
    /// From and to, in ns, on the bounds of slices; elsewhere there are shares.
    Around(Vec<(u64, u64)>),
}

impl Detail {
    /// Whether every mark that touches this span is kept.
    fn covers(&self, from: u64, to: u64) -> bool {
        match self {
            Detail::Whole => true,
            Detail::Around(spans) => {
                let after = spans.partition_point(|(_, end)| *end <= from);
                spans.get(after).is_some_and(|(begin, _)| *begin < to)
            }
        }
    }
}

/// A violation and whom it concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViolationMark {
    /// When it was there.
    pub time: u64,
    /// Who found it, as in [`super::ORACLES`].
    pub oracle: String,
    /// False if it is one only in some possible worlds.
    pub sure: bool,
    /// A sentence.
    pub words: String,
    /// The lines of the history that show it.
    pub lines: Vec<u64>,
    /// The clients that wrote these lines.
    pub clients: Vec<u32>,
    /// From the first to the last thing of it that a client did, in ns.
    pub span: (u64, u64),
}

/// Draws up the time line of a judged history; `reader` begins at its start.
///
/// # Errors
/// A line that cannot be read. What the judge accepts is accepted.
pub fn timeline<R: BufRead>(
    mut reader: Reader<R>,
    judgement: &Judgement,
) -> Result<Timeline, ReadError> {
    let (mut violations, violations_hidden) = violations(judgement);
    let slice_ns = (judgement.duration_ns / SLICES).max(1);
    let detail = detail(judgement, &violations, slice_ns);
    let reentrant = reader.header().reentrant;
    let mut rows = rows::Rows::new(slice_ns, detail, reentrant);
    let mut faults = faults::Faults::default();
    let mut latency = latency::Meter::new(slice_ns);
    let mut writers = Writers::new(&violations);
    while let Some(event) = reader.next() {
        let event = event?;
        writers.see(reader.line(), &event);
        faults.see(&event);
        if let Some(span) = rows.see(&event) {
            latency.see(&event.f, span);
        }
    }
    for violation in &mut violations {
        writers.mark(violation);
    }
    let (faults, faults_hidden) = faults.finish(judgement.duration_ns);
    let rows = rows.finish(judgement.duration_ns);
    Ok(Timeline {
        duration_ns: judgement.duration_ns,
        slice_ns,
        operations: judgement.operations,
        clients: rows.clients,
        clients_hidden: rows.hidden,
        faults,
        faults_hidden,
        violations,
        violations_hidden,
        latency: latency.finish(),
        marks: rows.marks,
        detail: rows.detail,
    })
}

/// The first violations by time, and how many more there are.
fn violations(judgement: &Judgement) -> (Vec<ViolationMark>, u64) {
    let mut marks = Vec::new();
    let mut counted = 0;
    for finding in &judgement.findings {
        let sure = match finding.verdict {
            FindingVerdict::Violated => true,
            FindingVerdict::Unknown => false,
            FindingVerdict::NotObserved | FindingVerdict::NotApplicable => continue,
        };
        let possible = finding.figures.get("possible").copied().unwrap_or_default();
        counted += if sure {
            finding.violations
        } else {
            possible as u64
        };
        marks.extend(finding.examples.iter().map(|example| ViolationMark {
            time: example.time,
            oracle: finding.oracle.clone(),
            sure,
            words: example.words.clone(),
            lines: example.lines.clone(),
            clients: Vec::new(),
            span: (example.time, example.time),
        }));
    }
    // Stable: oracles keep their order where they agree on the time. What is
    // sure comes first, so that it is not what is left out.
    marks.sort_by_key(|mark| (!mark.sure, mark.time));
    marks.truncate(VIOLATIONS_MAX);
    marks.sort_by_key(|mark| mark.time);
    let hidden = counted.saturating_sub(marks.len() as u64);
    (marks, hidden)
}

/// Where marks are kept: so far around each violation as the bound allows if
/// operations are spread evenly.
fn detail(judgement: &Judgement, violations: &[ViolationMark], slice_ns: u64) -> Detail {
    if judgement.operations <= WHOLE_OPERATIONS {
        return Detail::Whole;
    }
    let lease_ns = (judgement.header.ttl_ms.max(0) as u64).saturating_mul(1_000_000);
    // An operation gives up to two marks on average: an attempt, a hold with its
    // validity, and a release that gives none.
    let dense = 2.0 * judgement.operations as f64 / judgement.duration_ns.max(1) as f64;
    let mut half = lease_ns.saturating_mul(DETAIL_LEASES).max(DETAIL_NS_MIN);
    loop {
        let spans = around(violations, half, slice_ns);
        let kept: u64 = spans.iter().map(|(from, to)| to - from).sum();
        if half <= DETAIL_NS_MIN || kept as f64 * dense <= MARKS_MAX as f64 {
            return Detail::Around(spans);
        }
        half = (half / 5 * 4).max(DETAIL_NS_MIN);
    }
}

/// The spans around all violations, on the bounds of slices.
fn around(violations: &[ViolationMark], half: u64, slice_ns: u64) -> Vec<(u64, u64)> {
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for mark in violations {
        let from = mark.time.saturating_sub(half) / slice_ns * slice_ns;
        let to = (mark.time.saturating_add(half) / slice_ns).saturating_add(1);
        let to = to.saturating_mul(slice_ns);
        match spans.last_mut() {
            Some((_, end)) if from <= *end => *end = to.max(*end),
            _ => spans.push((from, to)),
        }
    }
    spans
}

/// Which clients wrote the lines that violations point to, or sent the commands
/// in them, and when.
struct Writers(BTreeMap<u64, Option<(u32, u64)>>);

impl Writers {
    fn new(violations: &[ViolationMark]) -> Writers {
        let lines = violations.iter().flat_map(|mark| &mark.lines);
        Writers(lines.map(|line| (*line, None)).collect())
    }

    fn see(&mut self, line: u64, event: &Event) {
        let Some(writer) = self.0.get_mut(&line) else {
            return;
        };
        let client = match event.process {
            Process::Client(client) => Some(client),
            Process::Node(_) if event.f == "execute" => {
                let client = event.value["client"].as_u64();
                client.and_then(|client| u32::try_from(client).ok())
            }
            _ => None,
        };
        *writer = client.map(|client| (client, event.time));
    }

    fn mark(&self, violation: &mut ViolationMark) {
        let written = |line| self.0.get(line).copied().flatten();
        for (client, time) in violation.lines.iter().filter_map(written) {
            violation.clients.push(client);
            let (from, to) = violation.span;
            violation.span = (from.min(time), to.max(time));
        }
        violation.clients.sort_unstable();
        violation.clients.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_covered_where_it_touches_kept_time() {
        let detail = Detail::Around(vec![(10, 20), (40, 50)]);
        for (from, to, covered) in [
            (0, 10, false),
            (0, 11, true),
            (19, 30, true),
            (20, 40, false),
            (20, 41, true),
            (50, 60, false),
        ] {
            assert_eq!(detail.covers(from, to), covered, "{from}..{to}");
        }
        assert!(Detail::Whole.covers(0, 1));
        assert!(!Detail::Around(Vec::new()).covers(0, 1));
    }
}
