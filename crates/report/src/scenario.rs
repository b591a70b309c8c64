//! Scenario x lock: what the model says, what replays confirm, what free runs saw.
//!
//! These rows are a part of [`super::Report`]. A row says of one lock in one
//! scenario what three readings of the same story gave. Free runs show
//! violations and never their absence, so their words are `observed` and `not
//! observed in N`; no row says that a lock is safe.

use lockproof_model::check::Verdict;
use lockproof_trace::words::thousands;
use serde::{Deserialize, Serialize};

use super::model::Replays;

/// One lock in one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioRow {
    /// The scenario's name.
    pub scenario: String,
    /// Its story.
    pub story: String,
    /// The lock's name.
    pub lock: String,
    /// The servers of free runs, in words.
    pub topology: String,
    /// What clients did with the lock.
    pub workload: String,
    /// How many processes competed.
    pub clients: u32,
    /// The lease, in ms.
    pub ttl_ms: i64,
    /// What the model says; `None` if the scenario expects nothing of this lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSays>,
    /// Free runs of the scenario as it stands; `None` if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<FreeRuns>,
    /// Runs at several pause lengths, by length.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweep: Vec<SweepPoint>,
    /// What somebody else measured in this set-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
    /// Whether free runs saw what the model excludes.
    pub agreement: FreeAgreement,
    /// What is not as expected, in sentences; what is unknown, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// True if something is not as the scenario expects it.
    pub unexpected: bool,
    /// Where this row has a report of its own, relative to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// The command line that repeats this row.
    pub command: String,
}

/// The model's verdicts on one lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSays {
    /// True if the world was explored for this report. Otherwise these are the
    /// verdicts that the scenario expects, and only violations are listed.
    pub explored: bool,
    /// By property.
    pub properties: Vec<PropertySays>,
}

/// The model's verdict on one property.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PropertySays {
    /// Catalogue id.
    pub property: String,
    /// Under the scenario's faults.
    pub verdict: Verdict,
    /// Without any; `None` if the scenario has none to leave out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Verdict>,
    /// Replays of the counterexample under the faults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replays: Option<Replays>,
}

/// How often something happened, and how sure that is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// How often it happened.
    pub events: u64,
    /// How often it could have.
    pub of: u64,
    /// The 95 % confidence interval of the share (Wilson 1927), 0 to 1.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Share {
    /// The share, 0 to 1; 0 of nothing is 0.
    pub fn value(self) -> f64 {
        match self.of {
            0 => 0.0,
            of => self.events as f64 / of as f64,
        }
    }

    /// `3 of 5 (23 % to 88 %)`, or `not observed in 5`.
    pub fn words(self) -> String {
        if self.events == 0 {
            return format!("not observed in {}", thousands(self.of));
        }
        format!(
            "{} of {} ({} to {})",
            thousands(self.events),
            thousands(self.of),
            percent(self.low),
            percent(self.high)
        )
    }
}

/// `18 %`, `2.6 %`, `0.04 %`: as many digits as say something.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p >= 9.95 || p == 0.0 => format!("{p:.0} %"),
        p if p >= 0.095 => format!("{p:.1} %"),
        p if p >= 0.005 => format!("{p:.2} %"),
        _ => "< 0.01 %".into(),
    }
}

/// Free runs of one lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeRuns {
    /// How long clients worked in each, in ms.
    pub duration_ms: u64,
    /// The oracles that had something to judge.
    pub oracles: Vec<OracleRate>,
    /// Acknowledged updates that were lost, of all runs together. Updates are not
    /// independent (a single stale write loses many), so the interval is too narrow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub losses: Option<Share>,
    /// The runs, by seed.
    pub runs: Vec<FreeRun>,
}

impl FreeRun {
    /// No fault struck, and nothing was observed.
    pub fn is_no_evidence(&self) -> bool {
        self.struck == Some(0) && self.observed.is_empty()
    }
}

impl FreeRuns {
    /// `7 of 9 faults struck`; `None` if none was planned.
    pub fn strikes_words(&self) -> Option<String> {
        let struck: Vec<u64> = self.runs.iter().filter_map(|run| run.struck).collect();
        let all = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
        let began = all(&mut self.runs.iter().map(|run| run.faults));
        (!struck.is_empty()).then(|| {
            let struck = all(&mut struck.iter().copied());
            let faults = if began == 1 { "fault" } else { "faults" };
            let (struck, began) = (thousands(struck), thousands(began));
            format!("{struck} of {began} {faults} struck")
        })
    }

    /// `1 of 3 runs is no evidence: no fault struck`; `None` if all are.
    pub fn no_evidence_words(&self) -> Option<String> {
        let void = self.runs.iter().filter(|run| run.is_no_evidence()).count();
        let runs = self.runs.len();
        match void {
            0 => None,
            1 if runs == 1 => Some("the run is no evidence: no fault struck".into()),
            1 => Some(format!("1 of {runs} runs is no evidence: no fault struck")),
            void => Some(format!(
                "{void} of {runs} runs are no evidence: no fault struck"
            )),
        }
    }
}

/// In how many runs an oracle saw a violation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OracleRate {
    /// The oracle's name.
    pub oracle: String,
    /// Runs with a violation, of those in which it had something to judge.
    pub observed: Share,
    /// Runs in which it depends on operations of unknown outcome.
    pub unknown: u64,
    /// Whether the model says that it can happen; `None` if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<bool>,
}

/// One free run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeRun {
    /// Of every draw.
    pub seed: u64,
    /// Lock operations that ended.
    pub operations: u64,
    /// Acquires that succeeded.
    pub acquired: u64,
    /// For how long clients worked, in s.
    pub seconds: f64,
    /// Faults that began.
    pub faults: u64,
    /// Faults that met anybody who held the lock or was getting it; `None` if none
    /// was planned, or nobody counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub struck: Option<u64>,
    /// The longest time for which a client did not run although nobody had
    /// stopped it, in ms.
    pub stall_max_ms: u64,
    /// It was ended before its time (Ctrl-C).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
    /// Oracles that saw a violation.
    pub observed: Vec<String>,
    /// Oracles that cannot tell.
    pub unknown: Vec<String>,
    /// Acknowledged updates that were lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub losses: Option<Share>,
    /// The history, relative to the report.
    pub history: String,
    /// Its page, relative to the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
}

/// Runs at one pause length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepPoint {
    /// How long each pause lasted, in ms.
    pub pause_ms: u64,
    /// Lost and acknowledged updates of all runs at this length.
    pub losses: Share,
    /// The runs, by seed.
    pub runs: Vec<FreeRun>,
}

/// A figure that somebody else published for the same set-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Lost of acknowledged updates, 0 to 1.
    pub lost_rate: f64,
    /// Of what: `etcd's lock`.
    pub of: String,
    /// Where it was published.
    pub source: String,
}

/// How free runs compare with the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FreeAgreement {
    /// There was nothing to compare.
    #[default]
    Untested,
    /// No fault struck in any run, and nothing was observed: that says nothing.
    NoEvidence,
    /// Whatever was observed, the model predicts.
    Agrees,
    /// Something was observed that the model excludes, while the machine kept a
    /// client from running: that says nothing.
    Unknown,
    /// Something was observed that the model excludes.
    Contradicts,
}

impl FreeAgreement {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            FreeAgreement::Untested => "no free runs to compare",
            FreeAgreement::NoEvidence => "no evidence: no fault struck",
            FreeAgreement::Agrees => "does not contradict the model",
            FreeAgreement::Unknown => "unknown: the machine stalled a client",
            FreeAgreement::Contradicts => "CONTRADICTS the model",
        }
    }
}

impl ScenarioRow {
    /// The properties with this verdict under the scenario's faults.
    pub fn with_verdict(&self, verdict: Verdict) -> Vec<&str> {
        let says = self.model.iter().flat_map(|model| &model.properties);
        says.filter(|says| says.verdict == verdict)
            .map(|says| says.property.as_str())
            .collect()
    }

    /// The properties that are violated without any fault.
    pub fn control_violated(&self) -> Vec<&str> {
        let says = self.model.iter().flat_map(|model| &model.properties);
        says.filter(|says| says.control == Some(Verdict::Violated))
            .map(|says| says.property.as_str())
            .collect()
    }

    /// Replays of all counterexamples under the faults together.
    pub fn replays(&self) -> Option<Replays> {
        let says = self.model.iter().flat_map(|model| &model.properties);
        let all = says.filter_map(|says| says.replays);
        all.reduce(|sum, one| Replays {
            reproduced: sum.reproduced + one.reproduced,
            attempts: sum.attempts + one.attempts,
        })
    }

    /// How free runs compare, and with what: a model that was explored for this
    /// report, or what the scenario expects of it.
    pub fn agreement_words(&self) -> String {
        let words = self.agreement.words();
        match self.model.as_ref().is_some_and(|model| !model.explored) {
            true => words.replace("the model", "the model's expected verdicts"),
            false => words.to_owned(),
        }
    }

    /// Whether this row must turn a run red.
    pub fn is_bad(&self) -> bool {
        self.unexpected || self.agreement == FreeAgreement::Contradicts
    }

    /// The losses in a line: `lost updates: 13 of 496 acknowledged (2.6 %, 95 %
    /// 1.5 % to 4.4 %); published for etcd's lock in this set-up: 18 %`.
    pub fn losses_words(&self) -> Option<String> {
        let losses = self.free.as_ref()?.losses?;
        let mut words = format!("lost updates: {}", losses_words(losses));
        if let Some(published) = &self.published {
            words += &format!(
                "; published for {} in this set-up: about {}",
                published.of,
                percent(published.lost_rate)
            );
        }
        Some(words)
    }

    /// The same row in a report one folder up.
    pub fn lifted(mut self, folder: &str) -> ScenarioRow {
        let lift = |path: &mut String| *path = format!("{folder}/{path}");
        let free = self.free.iter_mut().flat_map(|free| &mut free.runs);
        let sweep = self.sweep.iter_mut().flat_map(|point| &mut point.runs);
        for run in free.chain(sweep) {
            lift(&mut run.history);
            run.page.as_mut().map(lift);
        }
        self.page = Some(format!("{folder}/report.html"));
        self
    }
}

/// `13 of 496 acknowledged (2.6 %, 95 % 1.5 % to 4.4 %)`, `not observed in 496 acknowledged`.
pub fn losses_words(losses: Share) -> String {
    if losses.events == 0 {
        return format!("not observed in {} acknowledged", thousands(losses.of));
    }
    format!(
        "{} of {} acknowledged ({}, 95 % {} to {})",
        thousands(losses.events),
        thousands(losses.of),
        percent(losses.value()),
        percent(losses.low),
        percent(losses.high)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_seen_is_never_called_safe() {
        let share = Share {
            events: 0,
            of: 1234,
            low: 0.0,
            high: 0.003,
        };
        assert_eq!(share.words(), "not observed in 1\u{a0}234");
        assert_eq!(
            losses_words(share),
            "not observed in 1\u{a0}234 acknowledged"
        );
    }

    #[test]
    fn a_share_is_told_with_its_interval() {
        let share = Share {
            events: 13,
            of: 496,
            low: 0.0154,
            high: 0.0443,
        };
        assert_eq!(
            losses_words(share),
            "13 of 496 acknowledged (2.6 %, 95 % 1.5 % to 4.4 %)"
        );
        assert_eq!(percent(0.18), "18 %");
        assert_eq!(percent(0.0004), "0.04 %");
        assert_eq!(percent(1e-6), "< 0.01 %");
        assert_eq!(percent(0.0), "0 %");
    }
}
