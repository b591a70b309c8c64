//! All oracles over one pass through a history.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde::{Deserialize, Serialize};

use super::end::End;
use super::instant;
use super::operations::Operations;
use super::oracle;
use super::order::Window;
use super::reader::{Problem, ReadError, Reader};
use super::record::F;
use super::seen::Seen;
use super::{Header, Kind};

/// The schema name of a [`Judgement`].
const SCHEMA: &str = "lockproof.judgement/1";

/// How to judge.
#[derive(Clone, Debug)]
pub struct JudgeOptions {
    /// How many violations each oracle tells one by one; all of them are counted.
    pub examples: usize,
}

impl Default for JudgeOptions {
    fn default() -> Self {
        JudgeOptions { examples: 10 }
    }
}

/// What the oracles say about one history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Always `lockproof.judgement/1`.
    pub schema: String,
    /// The history's first line.
    pub header: Header,
    /// How it ends. One that does not is incomplete, and what it does not show is
    /// unknown.
    #[serde(default)]
    pub end: End,
    /// How many operations clients invoked.
    pub operations: u64,
    /// How many of these ended without anybody knowing how.
    pub unknown: u64,
    /// From 0 to the last event, in ns.
    pub duration_ns: u64,
    /// How often each fault began.
    pub faults: BTreeMap<String, u64>,
    /// How often a client's own process did not run, as it says itself.
    pub stalls: u64,
    /// The longest of these gaps, in ms.
    pub stall_max_ms: f64,
    /// One for each oracle, in the order of [`super::ORACLES`].
    pub findings: Vec<Finding>,
    /// What was forgiven while reading.
    pub warnings: Vec<String>,
}

impl Judgement {
    /// The worst verdict of all oracles that had something to judge; of an incomplete
    /// history nothing better than unknown.
    pub fn verdict(&self) -> FindingVerdict {
        let verdicts = self.findings.iter().map(|finding| finding.verdict);
        let worst = verdicts.min().unwrap_or(FindingVerdict::NotApplicable);
        match self.end {
            End::Complete => worst,
            End::Interrupted | End::Missing => worst.min(FindingVerdict::Unknown),
        }
    }
}

/// One oracle's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Its name, as in [`super::ORACLES`].
    pub oracle: String,
    pub verdict: FindingVerdict,
    /// How many things it looked at: "not observed in `checked`".
    pub checked: u64,
    /// How many of these are violations in every possible world.
    pub violations: u64,
    /// The first violations; where there are none, the first that may be some.
    pub examples: Vec<Violation>,
    /// Why the verdict is not plain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the oracle measured, by name; units are in the names.
    pub figures: BTreeMap<String, f64>,
}

/// What an oracle concludes; worse is less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingVerdict {
    /// In every possible world.
    Violated,
    /// In some possible worlds, not in all.
    Unknown,
    /// In no possible world. That is not "safe": it did not happen here.
    NotObserved,
    /// The history holds nothing for this oracle.
    NotApplicable,
}

impl FindingVerdict {
    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            FindingVerdict::Violated => "violated",
            FindingVerdict::Unknown => "unknown",
            FindingVerdict::NotObserved => "not-observed",
            FindingVerdict::NotApplicable => "not-applicable",
        }
    }
}

/// One violation, and where to look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// When it was there, in ns.
    pub time: u64,
    /// The lines of the history that show it, from 1.
    pub lines: Vec<u64>,
    /// A sentence.
    pub words: String,
}

/// Judges a history from its first event to its last.
///
/// # Errors
/// A line that cannot be understood, or one that contradicts those before it.
pub fn judge<R: BufRead>(
    mut reader: Reader<R>,
    options: &JudgeOptions,
) -> Result<Judgement, ReadError> {
    let header = reader.header().clone();
    let mut oracles = oracle::all(&header);
    let mut window = Window::default();
    let mut operations = Operations::new(header.clients);
    let mut run = Totals::default();
    let mut see = |seen: Seen<'_>| {
        run.see(&seen);
        for oracle in &mut oracles {
            oracle.see(&seen);
        }
    };
    let mut end = None;
    loop {
        let ended = match reader.next_record() {
            Some(record) => {
                let record = record?;
                if let Some((_, end)) = end {
                    return Err(Problem::AfterEnd { end }.at(record.line));
                }
                end = record.end().map(|complete| (complete, record.line));
                window.put(record).map(|()| false)?
            }
            None => true,
        };
        while let Some(count) = if ended { window.rest() } else { window.ready() } {
            take(&mut operations, &mut window, count, &mut reader, &mut see)?;
        }
        if ended {
            break;
        }
    }
    operations.finish(&mut see);
    let end = End::of(end.map(|(complete, _)| complete), reader.is_torn());
    if let Some(words) = end.words() {
        reader.warn(format!("the history is incomplete: {words}"));
    }
    let findings = oracles
        .into_iter()
        .map(|oracle| end.judge(oracle.finish(options.examples)))
        .collect();
    Ok(Judgement {
        schema: SCHEMA.into(),
        header,
        end,
        operations: operations.invoked,
        unknown: operations.unknown,
        duration_ns: operations.last_time(),
        faults: run.faults,
        stalls: run.stalls,
        stall_max_ms: run.stall_max_ms,
        findings,
        warnings: reader.warnings(),
    })
}

/// Takes all that happened at one time: so many events.
fn take<R: BufRead>(
    operations: &mut Operations,
    window: &mut Window,
    count: usize,
    reader: &mut Reader<R>,
    see: &mut impl FnMut(Seen<'_>),
) -> Result<(), ReadError> {
    let mut warn = |warning| reader.warn(warning);
    let mut records = std::iter::from_fn(|| window.next()).take(count);
    if count == 1 {
        // As a rule there is one.
        return match records.next() {
            Some(record) => operations.take(record, see, &mut warn),
            None => Ok(()),
        };
    }
    for record in instant::order(records.collect(), operations) {
        operations.take(record, see, &mut warn)?;
    }
    Ok(())
}

/// What happened to the run as a whole.
#[derive(Default)]
struct Totals {
    faults: BTreeMap<String, u64>,
    stalls: u64,
    stall_max_ms: f64,
}

impl Totals {
    fn see(&mut self, seen: &Seen<'_>) {
        let Seen::Noted(record) = seen else { return };
        let Some(rare) = record.details.rare() else {
            return;
        };
        if record.f == F::Stall && record.kind == Kind::Info {
            self.stalls += 1;
            self.stall_max_ms = self.stall_max_ms.max(rare.gap_ms.unwrap_or_default());
        }
        if let (Some("start"), Some(fault)) = (rare.phase.as_deref(), &rare.fault) {
            *self.faults.entry(fault.clone()).or_default() += 1;
        }
    }
}
