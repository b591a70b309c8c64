//! A replay confirms what the trace says that it violates, and nothing else.
//!
//! The same steps under another label are another claim: where the model does not say
//! that they violate that as well, servers and clients must not show it.

use std::path::{Path, PathBuf};

use crate::gate_support::{assert_reproduced, divergence, options as gate, reason};
use crate::world_support::{NoClock, builtin, options, planted, planted_path, set, sizes};
use lockproof_model::check::{CheckResult, Checker, Verdict};
use lockproof_model::lock::LockFile;
use lockproof_model::world::catalogue::PROPERTIES;
use lockproof_replay::{GatePool, ReplayReport};
use lockproof_trace::{Event, FaultEvent, Trace, validate};

const BELIEF: &str = "mutual-exclusion-belief";
const VALIDITY: &str = "mutual-exclusion-validity";
const EFFECT: &str = "mutual-exclusion-effect";
const OWNER_ONLY: &str = "owner-only-release";
const DEADLOCK: &str = "deadlock-freedom";

/// What the model says of a lock under a set, with the shortest traces.
fn results(file: &LockFile, words: &str) -> Vec<CheckResult> {
    let sizes = sizes(file, 2);
    let mut checker = Checker::new(file, options(&sizes, 2)).unwrap();
    checker.check_set(&set(words, 3), &NoClock).unwrap()
}

fn violations(results: &[CheckResult]) -> Vec<Trace> {
    let violated = results
        .iter()
        .filter(|result| result.verdict == Verdict::Violated);
    violated.filter_map(|result| result.trace.clone()).collect()
}

fn property(trace: &Trace) -> &str {
    trace.property.as_deref().unwrap_or_default()
}

/// The trace, with the claim that its violating step violates this.
fn relabelled(trace: &Trace, label: &str) -> Trace {
    let mut other = trace.clone();
    let old = property(trace).to_string();
    other.property = Some(label.to_string());
    let step = other
        .steps
        .iter_mut()
        .rfind(|step| step.violates.contains(&old));
    step.unwrap().violates.push(label.to_string());
    validate(&other).unwrap();
    other
}

/// Some step violates this.
fn says(trace: &Trace, label: &str) -> bool {
    let mut steps = trace.steps.iter();
    steps.any(|step| step.violates.iter().any(|id| id == label))
}

fn evidence(report: &ReplayReport) -> String {
    let confirmation = report.confirmation.as_ref().unwrap();
    assert_eq!(confirmation.seen, Some(true));
    confirmation.evidence.join("\n")
}

/// All violations of a lock under a set come true, the one of `expected` with this
/// evidence; and none of them under another label.
pub async fn judge(file: &LockFile, lock: &str, words: &str, expected: &str, told: &[&str]) {
    let results = results(file, words);
    let stuck = results
        .iter()
        .any(|result| result.property == DEADLOCK && result.verdict != Verdict::Holds);
    let traces = violations(&results);
    let mut pool = GatePool::new(gate());
    let mut found = false;
    for trace in &traces {
        let what = format!("{lock} under {words:?}: {}", property(trace));
        let report = pool.replay(trace, lock).await;
        println!("{what}: {}", report.verdict);
        assert_reproduced(&report);
        let text = evidence(&report);
        if property(trace) == expected {
            found = true;
            for part in told {
                assert!(text.contains(part), "{what}:\n{text}\nlacks: {part}");
            }
        }
        for info in &PROPERTIES {
            // No step says of itself that nobody can acquire any more, and none what nobody
            // asked for.
            let unsaid = info.property.on_demand()
                || [DEADLOCK, "fault-tolerance"].contains(&info.id) && stuck;
            if says(trace, info.id) || unsaid {
                continue;
            }
            let other = relabelled(trace, info.id);
            let report = pool.replay(&other, lock).await;
            assert!(
                !report.verdict.is_reproduced(),
                "{what}, relabelled as {}: {:?}",
                info.id,
                report.confirmation
            );
            let (step, expected, actual) = divergence(&report);
            assert_eq!(step, trace.steps.len() - 1, "{what} as {}", info.id);
            assert!(!expected.is_empty() && !actual.is_empty());
        }
    }
    assert!(found, "{lock} keeps {expected} under {words:?}");
}

async fn judge_builtin(lock: &str, words: &str, expected: &str, told: &[&str]) {
    judge(&builtin(lock), lock, words, expected, told).await;
}

async fn judge_planted(lock: &str, words: &str, expected: &str, told: &[&str]) {
    let path = planted_path(lock);
    let file = planted(lock);
    judge(&file, path.to_str().unwrap(), words, expected, told).await;
}

/// A lock file of the test's own, and the folder that it lies in.
fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock.lua");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

async fn judge_written(text: &str, words: &str, expected: &str, told: &[&str]) {
    let (_folder, path) = written(text);
    let file = LockFile::load(Path::new(&path)).unwrap();
    judge(&file, path.to_str().unwrap(), words, expected, told).await;
}

#[tokio::test]
async fn belief_and_effect_rest_on_two_holders_and_a_real_counter() {
    let told = ["A holds the lock", "B holds the lock", "validly for"];
    judge_builtin("token", "overrun", BELIEF, &told).await;
    let told = [
        "read 0 from the guarded counter when it acquired, and writes 1 over 1",
        "the guarded counter is 1 after 2 writes",
    ];
    judge_builtin("token", "client-pause", EFFECT, &told).await;
}

#[tokio::test]
async fn validity_rests_on_two_clocks_that_say_it_is_not_over() {
    let told = ["holds the lock, validly for"];
    judge_planted("token-validity-late", "delay", VALIDITY, &told).await;
}

#[tokio::test]
async fn owner_only_rests_on_the_command_that_touched_anothers_key() {
    let told = ["wrote and validly holds", " of B wrote over"];
    judge_planted("token-acquire-keeps", "", OWNER_ONLY, &told).await;
    let told = ["deleted `lock`", "wrote and validly holds"];
    judge_builtin("setnx-expire", "overrun", OWNER_ONLY, &told).await;
}

#[tokio::test]
async fn reentrancy_rests_on_answers_and_on_what_a_release_leaves() {
    let told = ["acquired it again and was told busy"];
    judge_planted("reentrant-counts-once", "", "reentrancy", &told).await;
    let told = ["leaves 1 holds, and what it wrote is on none of 1 nodes"];
    judge_planted("reentrant-inner-del", "", "reentrancy", &told).await;
}

#[tokio::test]
async fn lease_rests_on_the_expiry_of_the_clients_key_and_on_who_created_it() {
    let told = [
        "acquire succeeds validly, and its lock, with an expiry within 3000 ms, is on none of 1",
        "without an expiry, written by A",
    ];
    judge_planted("token-no-expiry", "", "lease", &told).await;
    let told = [
        "sent in the background",
        "created `lock`, which was not there",
    ];
    judge_planted("renewal-revives", "node-restart-none", "lease", &told).await;
}

#[tokio::test]
async fn an_orphan_is_a_key_whose_writer_is_idle_or_dead() {
    let told = ["A asks for nothing for 3003 ms now, and `lock"];
    judge_written(ORPHAN, "", "no-orphan", &told).await;
    let told = ["is dead, and `lock", "never expires"];
    judge_builtin("setnx-expire", "client-crash", "no-orphan", &told).await;
}

#[tokio::test]
async fn honesty_rests_on_what_an_operation_changed() {
    let told = ["release reports success, and it changed something on none of 1 nodes"];
    judge_planted("token-release-boasts", "loss", "honest-outcome", &told).await;
}

#[tokio::test]
async fn a_deadlock_is_that_everybody_tries_and_fails() {
    let told = [
        "tried 7 times (busy)",
        "none acquired the lock",
        "without an expiry",
    ];
    judge_builtin("setnx-expire", "client-crash", DEADLOCK, &told).await;
}

#[tokio::test]
async fn a_release_that_frees_nothing_is_found_by_another_client() {
    let told = [
        "release reports success; then B",
        "tried 3 times (busy)",
        "none acquired the lock",
        "written by A",
    ];
    judge_written(KEEPS, "", "release-frees", &told).await;
}

/// A note beside the lock stays.
const ORPHAN: &str = r#"return {
  scripts = { "release_if_owner" },
  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    redis("SET", lock.key .. ":note", lock.owner)
    return held()
  end,
  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}"#;

/// The release looks and leaves.
const KEEPS: &str = r#"return {
  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,
  release = function(lock)
    redis("GET", lock.key)
  end,
}"#;

/// A pause between the decision and the bytes: the gate holds them back, and says so.
#[tokio::test]
async fn what_a_paused_client_was_about_to_send_is_held_back() {
    let mut pool = GatePool::new(gate());
    let mut seen = 0;
    for lock in ["token", "setnx-expire", "token-renewed"] {
        for trace in violations(&results(&builtin(lock), "client-pause")) {
            let held = trace.steps.iter().any(|step| {
                matches!(&step.event, Event::Fault { fault: FaultEvent::ClientPause { held, .. } }
                    if !held.is_empty())
            });
            let report = pool.replay(&trace, lock).await;
            assert_reproduced(&report);
            let text = evidence(&report);
            assert_eq!(
                held,
                text.contains("its bytes are held back until it goes on")
            );
            seen += usize::from(held);
        }
    }
    assert_ne!(seen, 0, "no shortest trace holds a request back");
}

/// A clock that is set while its client holds, or remembers a time.
#[tokio::test]
async fn a_clock_is_set_while_its_client_holds() {
    let mut pool = GatePool::new(gate());
    let mut while_held = 0;
    for lock in ["token", "getset-timestamp"] {
        for trace in violations(&results(&builtin(lock), "client-skew")) {
            let report = pool.replay(&trace, lock).await;
            assert_reproduced(&report);
            while_held += trace
                .steps
                .iter()
                .filter(|step| match &step.event {
                    Event::Fault {
                        fault: FaultEvent::ClientSkew { client, .. },
                    } => step.clients[usize::from(*client)].phase != "idle",
                    _ => false,
                })
                .count();
        }
    }
    assert_ne!(while_held, 0);
}

#[tokio::test]
async fn a_property_that_nobody_knows_is_not_confirmed() {
    let trace = violations(&results(&builtin("token"), "overrun")).remove(0);
    let other = relabelled(&trace, "fairness");
    let report = gate_support_replay(&other, "token").await;
    assert!(reason(&report.verdict).contains("claims to violate `fairness`"));
}

async fn gate_support_replay(trace: &Trace, lock: &str) -> ReplayReport {
    GatePool::new(gate()).replay(trace, lock).await
}
