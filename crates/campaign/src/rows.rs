//! Scenario x lock: free runs, beside what the model says, as one row.
//!
//! Everything here is arithmetic on what was judged already. The comparison of
//! what was observed with what the model excludes is
//! [`lockproof_torture::agreement`]'s; the words are the report's.

use lockproof_history::{Finding, FindingVerdict, Judgement, ORACLES};
use lockproof_model::check::Verdict;
use lockproof_report::model::{Agreement as CellAgreement, Cell, Report};
use lockproof_report::scenario as row;
use lockproof_report::scenario::{FreeAgreement, ModelSays, PropertySays, ScenarioRow, Share};
use lockproof_scenario::{Expectation, Kind, Scenario};
use lockproof_torture::agreement::{self, Agreement};
use lockproof_torture::free::FreeRun;
use lockproof_torture::rate::Rate;
use lockproof_torture::strikes::{self, Strike};

/// A free run and what the oracles say of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Of every draw.
    pub seed: u64,
    /// What the run told.
    pub run: FreeRun,
    /// What its history tells.
    pub judgement: Judgement,
    /// Whom its faults met; `None` if none was planned.
    pub strikes: Option<Vec<Strike>>,
    /// The history's file, relative to the report.
    pub history: String,
    /// The run's page, relative to the report.
    pub page: Option<String>,
}

/// What free runs were asked to do.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    /// Of the scenario as it stands.
    pub plain: Vec<Outcome>,
    /// Pause lengths in ms with their runs.
    pub sweep: Vec<(u64, Vec<Outcome>)>,
    /// How long clients worked in each, in ms.
    pub duration_ms: u64,
    /// Why a further run did not succeed, with its name; no run came after it.
    pub failed: Option<String>,
}

impl Outcome {
    /// What was observed in a run that was cut short was observed. That nothing was
    /// observed says less than in a whole run, so it does not count as one. Where no
    /// fault struck it says nothing at all.
    fn counts(&self) -> bool {
        !self.run.cut_short && self.struck() != Some(0)
    }

    /// How many faults struck anybody; `None` if none was planned.
    fn struck(&self) -> Option<u64> {
        self.strikes.as_deref().map(strikes::struck)
    }

    fn saw_something(&self) -> bool {
        agreement::observed(&self.judgement).next().is_some()
    }

    /// Every fault missed, and nothing was seen.
    fn is_no_evidence(&self) -> bool {
        self.struck() == Some(0) && !self.saw_something()
    }
}

/// One row of the table of scenarios and locks. `directed` is the report of the
/// scenario's directed reading, if there was one.
pub fn row(
    scenario: &Scenario,
    lock: &str,
    directed: Option<&Report>,
    outcomes: &Outcomes,
    command: String,
) -> ScenarioRow {
    let scenario = &scenario.with_lock(lock);
    let expected = scenario.expect.get(lock);
    let mut row = ScenarioRow {
        scenario: scenario.name.clone(),
        story: scenario.story.trim().replace('\n', " "),
        lock: lock.to_owned(),
        topology: topology(scenario, lock, outcomes),
        workload: scenario.workload.kind.name().to_owned(),
        clients: scenario.clients.count,
        ttl_ms: scenario.clients.ttl_ms,
        model: model(scenario, lock, directed),
        free: (!outcomes.plain.is_empty())
            .then(|| free(expected, &outcomes.plain, outcomes.duration_ms)),
        sweep: outcomes.sweep.iter().map(point).collect(),
        published: scenario.published.as_ref().map(|found| row::Published {
            lost_rate: found.lost_rate,
            of: found.of.clone(),
            source: found.source.clone(),
        }),
        agreement: FreeAgreement::Untested,
        notes: Vec::new(),
        unexpected: false,
        page: None,
        command,
    };
    if let Some(report) = directed {
        let mut cells = report.cells.iter().filter(|cell| cell.lock == lock);
        if cells.any(|cell| cell.agreement() == CellAgreement::Contradicted) {
            row.unexpected = true;
            row.notes
                .push("a replay or a walk went another way than the model says".into());
        }
    }
    row.notes.extend(accidents(outcomes));
    if let Some(expected) = expected {
        compare(&mut row, scenario, expected, outcomes);
    }
    row
}

/// Runs that were cut short, those that are no evidence, and the one that failed.
fn accidents(outcomes: &Outcomes) -> Vec<String> {
    let swept = outcomes.sweep.iter().flat_map(|(_, runs)| runs);
    let all = || outcomes.plain.iter().chain(swept.clone());
    let cut = all().filter(|outcome| outcome.run.cut_short).map(|outcome| {
        format!(
            "{}: cut short after {:.1} s: what was observed stands, that nothing was observed is not counted",
            outcome.history, outcome.run.seconds
        )
    });
    let void = all()
        .filter(|outcome| outcome.is_no_evidence())
        .map(|outcome| {
            let began = outcome.strikes.as_ref().map_or(0, Vec::len);
            format!(
                "{}: no evidence: {began} faults began, and none struck anybody",
                outcome.history
            )
            .replace("1 faults", "1 fault")
        });
    cut.chain(void).chain(outcomes.failed.clone()).collect()
}

/// The servers in words. A lock that asks for several masters gets them where the
/// scenario has one server, so what ran knows best.
fn topology(scenario: &Scenario, lock: &str, outcomes: &Outcomes) -> String {
    let swept = outcomes.sweep.iter().flat_map(|(_, runs)| runs);
    let ran = outcomes.plain.iter().chain(swept).next();
    let expected = scenario.expect.get(lock).and_then(|found| found.nodes);
    let nodes = ran
        .map(|outcome| outcome.judgement.header.nodes)
        .or(expected.or(scenario.topology.nodes).map(u32::from));
    match scenario.topology.kind {
        Kind::Single | Kind::Masters => match nodes {
            Some(1) => "one server".into(),
            Some(nodes) => format!("{nodes} masters"),
            None => "as many masters as the lock asks for".into(),
        },
        Kind::Replicated => format!(
            "a primary and {} replicas",
            scenario.topology.replicas.unwrap_or(1)
        )
        .replace("1 replicas", "1 replica"),
        Kind::Sentinel => "Sentinel: a primary, 2 replicas, 3 sentinels".into(),
        Kind::Cluster => "Cluster: 3 primaries, 3 replicas".into(),
    }
}

/// The explored verdicts, or those that the scenario expects.
fn model(scenario: &Scenario, lock: &str, directed: Option<&Report>) -> Option<ModelSays> {
    let cells: Vec<&Cell> = directed
        .iter()
        .flat_map(|report| &report.cells)
        .filter(|cell| cell.lock == lock)
        .collect();
    let faulty = !scenario.model.assumptions.is_empty();
    if !cells.is_empty() {
        let under = |cell: &&&Cell| cell.assumptions.is_empty() != faulty;
        let properties = cells.iter().filter(under).map(|cell| PropertySays {
            property: cell.property.clone(),
            verdict: cell.verdict,
            control: cells
                .iter()
                .find(|other| {
                    faulty && other.assumptions.is_empty() && other.property == cell.property
                })
                .map(|other| other.verdict),
            replays: cell.replays,
        });
        return Some(ModelSays {
            explored: true,
            properties: properties.collect(),
        });
    }
    let expected = scenario.expect.get(lock)?;
    let says = |property: &String| PropertySays {
        property: property.clone(),
        verdict: Verdict::Violated,
        control: faulty.then(|| match expected.control.contains(property) {
            true => Verdict::Violated,
            false => Verdict::Holds,
        }),
        replays: None,
    };
    Some(ModelSays {
        explored: false,
        properties: expected.violated.iter().map(says).collect(),
    })
}

fn free(expected: Option<&Expectation>, outcomes: &[Outcome], duration_ms: u64) -> row::FreeRuns {
    let oracles = ORACLES.iter().filter_map(|oracle| {
        let observed = rate(oracle, outcomes);
        (observed.runs > 0).then(|| row::OracleRate {
            oracle: (*oracle).to_owned(),
            observed: share(observed),
            unknown: count(oracle, outcomes, FindingVerdict::Unknown),
            predicted: expected.and_then(|expected| agreement::predicted(expected, oracle)),
        })
    });
    row::FreeRuns {
        duration_ms,
        oracles: oracles.collect(),
        losses: losses(outcomes.iter().filter(|one| !one.is_no_evidence())),
        runs: outcomes.iter().map(run).collect(),
    }
}

fn share(rate: Rate) -> Share {
    let (low, high) = rate.interval();
    Share {
        events: rate.events,
        of: rate.runs,
        low,
        high,
    }
}

fn finding<'a>(oracle: &str, outcome: &'a Outcome) -> Option<&'a Finding> {
    let mut findings = outcome.judgement.findings.iter();
    findings.find(|found| found.oracle == oracle)
}

fn count(oracle: &str, outcomes: &[Outcome], verdict: FindingVerdict) -> u64 {
    let has =
        |outcome: &&Outcome| finding(oracle, outcome).is_some_and(|found| found.verdict == verdict);
    let counts = |outcome: &&Outcome| verdict == FindingVerdict::Violated || outcome.counts();
    outcomes.iter().filter(has).filter(counts).count() as u64
}

/// In how many runs an oracle saw a violation, of those where it could.
fn rate(oracle: &str, outcomes: &[Outcome]) -> Rate {
    let events = count(oracle, outcomes, FindingVerdict::Violated);
    let quiet = count(oracle, outcomes, FindingVerdict::NotObserved);
    let unknown = count(oracle, outcomes, FindingVerdict::Unknown);
    Rate {
        events,
        runs: events + quiet + unknown,
    }
}

/// Lost of acknowledged updates; `None` where nothing was acknowledged, or where
/// the end of the set is not known.
fn losses<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Option<Share> {
    let mut sum = Rate { events: 0, runs: 0 };
    for outcome in outcomes {
        let Some(found) = finding("lost-updates", outcome) else {
            continue;
        };
        if let (Some(lost), Some(acknowledged)) =
            (found.figures.get("lost"), found.figures.get("acknowledged"))
        {
            sum.events += *lost as u64;
            sum.runs += *acknowledged as u64;
        }
    }
    (sum.runs > 0).then(|| share(sum))
}

fn run(outcome: &Outcome) -> row::FreeRun {
    let named = |verdict| {
        let findings = outcome.judgement.findings.iter();
        findings
            .filter(|found| found.verdict == verdict)
            .map(|found| found.oracle.clone())
            .collect()
    };
    row::FreeRun {
        seed: outcome.seed,
        operations: outcome.run.tally.operations,
        acquired: outcome.run.tally.acquired,
        seconds: outcome.run.seconds,
        faults: outcome.judgement.faults.values().sum(),
        struck: outcome.struck(),
        stall_max_ms: outcome.run.tally.stall_max_ms,
        cut_short: outcome.run.cut_short,
        observed: named(FindingVerdict::Violated),
        unknown: named(FindingVerdict::Unknown),
        losses: losses(std::iter::once(outcome)),
        history: outcome.history.clone(),
        page: outcome.page.clone(),
    }
}

fn point((pause_ms, outcomes): &(u64, Vec<Outcome>)) -> row::SweepPoint {
    let nothing = Rate { events: 0, runs: 0 };
    row::SweepPoint {
        pause_ms: *pause_ms,
        losses: losses(outcomes.iter()).unwrap_or_else(|| share(nothing)),
        runs: outcomes.iter().map(run).collect(),
    }
}

/// Observed and predicted must agree in both directions.
fn compare(
    row: &mut ScenarioRow,
    scenario: &Scenario,
    expected: &Expectation,
    outcomes: &Outcomes,
) {
    // The model's clients react within a tick.
    let bound_ms = scenario.clients.ttl_ms as u64 / u64::from(scenario.model.ttl_ticks);
    let swept = outcomes.sweep.iter().flat_map(|(_, outcomes)| outcomes);
    for outcome in outcomes.plain.iter().chain(swept) {
        let told = |oracles: Vec<String>| format!("{}: {}", outcome.history, oracles.join(", "));
        let found = agreement::agreement(expected, &outcome.judgement, &outcome.run, bound_ms);
        let (found, note) = match found {
            Agreement::Agrees => (FreeAgreement::Agrees, None),
            Agreement::Contradicts(oracles) => (
                FreeAgreement::Contradicts,
                Some(format!(
                    "{} was observed, and the model says that it holds: an error of lockproof or of the expectation",
                    told(oracles)
                )),
            ),
            Agreement::Stalled(oracles, stall_ms) => (
                FreeAgreement::Unknown,
                Some(format!(
                    "{}: unknown: it was observed, and a client did not run for {stall_ms} ms, which nobody injected",
                    told(oracles)
                )),
            ),
        };
        let found = match (found, outcome.is_no_evidence()) {
            (FreeAgreement::Agrees, true) => FreeAgreement::NoEvidence,
            (found, _) => found,
        };
        row.agreement = worse(row.agreement, found);
        row.notes.extend(note);
    }
    // It may have been observed in a run that is missing.
    let cut_short = outcomes.plain.iter().any(|outcome| outcome.run.cut_short);
    let whole = outcomes.failed.is_none() && !cut_short;
    // The demand is on runs as many and as long as the scenario's own.
    let own = &scenario.run;
    let fewer = outcomes.plain.len() < own.runs as usize;
    let shorter = outcomes.duration_ms < u64::from(own.duration_ms);
    if outcomes.plain.is_empty() || !whole || fewer || shorter {
        return;
    }
    for oracle in &expected.observed {
        if rate(oracle, &outcomes.plain).events == 0 {
            row.unexpected = true;
            row.notes
                .push(format!("{oracle} was expected to be observed, and was not"));
        }
    }
}

fn worse(one: FreeAgreement, other: FreeAgreement) -> FreeAgreement {
    if one as u8 >= other as u8 { one } else { other }
}
