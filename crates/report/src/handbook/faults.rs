//! The page of faults.

use lockproof_model::check::Verdict;
use lockproof_model::world::catalogue::{
    Beside, CONSEQUENCES, FAULTS, FaultInfo, PROPERTIES, SizeUnit,
};
use serde::Serialize;

use super::language::Language;
use super::verdicts::Verdicts;
use super::{named, source};

/// A fault, and what becomes of the locks under it alone.
#[derive(Serialize)]
pub(super) struct FaultView {
    id: &'static str,
    plain: String,
    meaning: String,
    cause: String,
    remedy: String,
    source: String,
    budget: u8,
    size: u8,
    size_ttl: u8,
    /// `none`, `ticks` or `writes`.
    unit: &'static str,
    /// Faults beside which the model does not follow it.
    not_beside: Vec<&'static str>,
    /// The same for what locks do: `WAIT`, `BLPOP`, `SUBSCRIBE`.
    not_with: Vec<&'static str>,
    asked: usize,
    broken: usize,
    /// What is new under it, the worst first, and the locks to which it happens.
    harm: Vec<(String, String)>,
    /// Locks of which nothing more is violated than without it ..
    as_before: Option<String>,
    /// .. and those of which nothing is.
    safe: Option<String>,
    /// Locks of which something is unknown, and nothing new is violated.
    unknown: Option<String>,
}

/// What becomes of a lock under a fault.
enum Met {
    Safe,
    AsBefore,
    Unknown,
    /// The place of the worst new violation in the table of consequences.
    Harmed(usize),
}

pub(super) fn all(verdicts: &Verdicts, language: &Language) -> Vec<FaultView> {
    let view = |info: &FaultInfo| view(info, verdicts, language);
    FAULTS.iter().map(view).collect()
}

fn view(info: &FaultInfo, verdicts: &Verdicts, language: &Language) -> FaultView {
    let words = (language.fault)(info.fault);
    let met: Vec<(&str, Met)> = verdicts
        .locks()
        .iter()
        .enumerate()
        .filter(|(at, _)| verdicts.asked(*at, &[info.id]))
        .map(|(at, lock)| (*lock, met(verdicts, at, info.id)))
        .collect();
    let with = |wanted: &dyn Fn(&Met) -> bool| {
        let locks = met.iter().filter(|(_, met)| wanted(met));
        named(locks.map(|(lock, _)| *lock), language)
    };
    let harm: Vec<(String, String)> = CONSEQUENCES
        .iter()
        .enumerate()
        .filter(|(rank, _)| {
            (met.iter()).any(|(_, met)| matches!(met, Met::Harmed(one) if one == rank))
        })
        .map(|(rank, row)| {
            let locks = with(&|met| matches!(met, Met::Harmed(one) if *one == rank));
            let violation = (language.property)(row.property).violation;
            (violation, locks.unwrap_or_default())
        })
        .collect();
    FaultView {
        id: info.id,
        plain: words.plain,
        meaning: words.meaning,
        cause: words.cause,
        remedy: words.remedy,
        source: source(info.fault.origin().source, language),
        budget: info.budget,
        size: info.size,
        size_ttl: info.size_ttl,
        unit: match info.unit {
            SizeUnit::None => "none",
            SizeUnit::Ticks => "ticks",
            SizeUnit::Writes => "writes",
        },
        not_beside: info.not_beside.iter().filter_map(fault_of).collect(),
        not_with: info.not_beside.iter().filter_map(command_of).collect(),
        asked: met.len(),
        broken: met
            .iter()
            .filter(|(_, met)| matches!(met, Met::Harmed(_)))
            .count(),
        harm,
        as_before: with(&|met| matches!(met, Met::AsBefore)),
        safe: with(&|met| matches!(met, Met::Safe)),
        unknown: with(&|met| matches!(met, Met::Unknown)),
    }
}

/// The worst that is violated under the fault and not without it. (Where nothing was asked without
/// faults, all that is violated is new.)
fn met(verdicts: &Verdicts, lock: usize, fault: &str) -> Met {
    let under = |property: &str| verdicts.verdict(lock, property, &[fault]);
    let before = |property: &str| verdicts.verdict(lock, property, &[]);
    let worst = CONSEQUENCES.iter().position(|row| {
        let id = row.property.info().id;
        under(id) == Some(Verdict::Violated) && before(id) != Some(Verdict::Violated)
    });
    let some = |verdict| {
        PROPERTIES
            .iter()
            .any(|info| under(info.id) == Some(verdict))
    };
    match worst {
        Some(rank) => Met::Harmed(rank),
        None if some(Verdict::Violated) => Met::AsBefore,
        None if some(Verdict::Unknown) => Met::Unknown,
        None => Met::Safe,
    }
}

fn fault_of(beside: &Beside) -> Option<&'static str> {
    match beside {
        Beside::Fault(fault) => Some(fault.info().id),
        Beside::Wait | Beside::Pops | Beside::Messages => None,
    }
}

fn command_of(beside: &Beside) -> Option<&'static str> {
    match beside {
        Beside::Wait => Some("WAIT"),
        Beside::Pops => Some("BLPOP"),
        Beside::Messages => Some("SUBSCRIBE"),
        Beside::Fault(_) => None,
    }
}
