//! Generated histories, judged twice: by the oracles, and by a slow checker that
//! tries every reading of what is unknown. And long ones with planted violations.

use crate::history_support::*;

use std::collections::BTreeMap;

use lockproof_history::FindingVerdict::{NotObserved, Unknown, Violated};
use lockproof_history::{FindingVerdict, Judgement, ORACLES};
use proptest::prelude::*;

/// How many random histories are judged twice; `HISTORIES` in the environment asks
/// for more.
fn histories() -> u64 {
    let asked = std::env::var("HISTORIES").ok();
    asked.and_then(|asked| asked.parse().ok()).unwrap_or(12_000)
}

#[test]
fn every_verdict_is_that_of_a_checker_that_tries_every_reading() {
    let mut reached: BTreeMap<(&str, FindingVerdict), u64> = BTreeMap::new();
    for seed in 0..histories() {
        let text = naive::random::history(seed);
        let judgement = judged(&text);
        for (oracle, slow) in naive::judge(&text) {
            let found = finding(&judgement, oracle);
            assert_eq!(
                found.verdict, slow,
                "{oracle}, seed {seed} (left: the judge, right: all readings)\n{text}{found:#?}"
            );
            *reached.entry((oracle, slow)).or_default() += 1;
        }
    }
    for oracle in ORACLES {
        for verdict in [Violated, Unknown, NotObserved] {
            let count = reached.get(&(oracle, verdict)).copied().unwrap_or_default();
            let judged = !["owner-only-release", "wake-up"].contains(&oracle);
            assert!(!judged || count > 10, "{oracle}: {verdict:?} {count} times");
        }
    }
}

#[test]
fn each_acquire_that_succeeded_while_another_client_held_is_counted_once() {
    for seed in 0..histories() / 2 {
        let text = naive::random::history(seed);
        let judgement = judged(&text);
        let history = naive::History::read(&text);
        for (oracle, by_validity) in [
            ("mutual-exclusion-belief", false),
            ("mutual-exclusion-validity", true),
        ] {
            let count = naive::holds::exclusion_count(&history, by_validity);
            let found = finding(&judgement, oracle);
            if let Some(count) = count {
                assert_eq!(
                    found.violations, count,
                    "{oracle}, seed {seed}\n{text}{found:#?}"
                );
            }
        }
    }
}

/// Everything that a judgement says, apart from the lines where it is to be seen.
fn said(judgement: &Judgement) -> Vec<(String, FindingVerdict, u64, u64, String)> {
    let findings = judgement.findings.iter();
    findings
        .map(|found| {
            let figures = format!("{:?}", found.figures);
            let (checked, violations) = (found.checked, found.violations);
            (
                found.oracle.clone(),
                found.verdict,
                checked,
                violations,
                figures,
            )
        })
        .collect()
}

#[test]
fn lines_of_one_time_may_stand_in_any_order() {
    for seed in 0..histories() / 3 {
        let text = naive::random::history(seed);
        let first = said(&judged(&text));
        for turn in 0..3 {
            let swapped = naive::random::swapped(&text, seed * 3 + turn);
            let other = said(&judged(&swapped));
            assert_eq!(first, other, "seed {seed}\n{text}\nswapped:\n{swapped}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn missing_elements_are_those_that_were_acknowledged_and_are_not_there(
        adds in prop::collection::vec((0..12u8, 0..3u8), 0..20),
        there in prop::collection::btree_set(0..12u8, 0..12),
    ) {
        let mut events = String::new();
        for (index, (element, end)) in adds.iter().enumerate() {
            let end = ["ok", "info", "fail"][usize::from(*end)];
            events += &format!("{index} 0 invoke add {{\"element\":{element}}}\n{index} 0 {end} add\n");
        }
        events += &format!("99 harness ok final-set {{\"elements\":{:?}}}", there.iter().collect::<Vec<_>>());
        let judgement = judged(&history("", &events));
        let lost = (0..12u8)
            .filter(|element| adds.contains(&(*element, 0)) && !there.contains(element))
            .count();
        prop_assert_eq!(finding(&judgement, "lost-updates").violations, lost as u64);
    }

    #[test]
    fn lost_counter_updates_are_what_the_counter_lacks(steps in prop::collection::vec((0..4usize, any::<bool>()), 0..60)) {
        // A real counter, and clients that read and write it in any order.
        let (mut counter, mut seen, mut acknowledged) = (0u64, [None; 4], 0);
        let mut events = String::new();
        for (time, (client, write)) in steps.iter().enumerate() {
            match (seen[*client], write) {
                (Some(read), true) => {
                    let wrote = read + 1;
                    events += &format!("{time} {client} invoke write {{\"read\":{read},\"wrote\":{wrote}}}\n{time} {client} ok write\n");
                    (counter, seen[*client], acknowledged) = (wrote, None, acknowledged + 1);
                }
                _ => seen[*client] = Some(counter),
            }
        }
        events += &format!("99 harness ok final-counter {{\"value\":{counter}}}");
        let judgement = judged(&history("", &events));
        let found = finding(&judgement, "mutual-exclusion-effect");
        prop_assert_eq!(found.violations, acknowledged - counter, "{}", events);
    }
}

/// Clients in turn, each with a clean hold that writes, adds and releases.
/// `plant` may add events into a turn, given its beginning in ms and its client.
fn long(turns: usize, header: &str, plant: impl Fn(usize, f64, usize) -> String) -> Judgement {
    let mut events = String::new();
    let mut elements = Vec::new();
    for turn in 0..turns {
        let (t, c) = (turn as f64 * 10.0, turn % 3);
        let (read, wrote) = (turn, turn + 1);
        elements.push(turn);
        events += &format!(
            "{t} {c} invoke acquire\n{} {c} ok acquire {{\"validity_ms\":9,\"fence\":{turn}}}\n\
             {} {c} invoke write {{\"read\":{read},\"wrote\":{wrote}}}\n{} {c} ok write\n\
             {} {c} invoke add {{\"element\":{turn}}}\n{} {c} ok add\n",
            t + 1.0,
            t + 2.0,
            t + 3.0,
            t + 4.0,
            t + 5.0,
        );
        events += &plant(turn, t, c);
        events += &format!(
            "{} {c} invoke release\n{} {c} ok release {{\"effect\":true}}\n",
            t + 8.0,
            t + 9.0
        );
    }
    let end = turns as f64 * 10.0;
    events += &format!(
        "{end} harness ok final-set {{\"elements\":{elements:?}}}\n{end} harness ok final-counter {{\"value\":{turns}}}"
    );
    judged(&history(header, &events))
}

#[test]
fn a_long_clean_history_is_clean() {
    let judgement = long(5_000, "", |_, _, _| String::new());
    assert_eq!(judgement.verdict(), NotObserved);
    assert_eq!(judgement.operations, 20_000);
    assert!(judgement.warnings.is_empty());
}

#[test]
fn planted_violations_are_found_in_a_long_history() {
    let planted = |turn: usize| turn % 1_000 == 777;
    for (oracle, plant) in [
        (
            "mutual-exclusion-belief",
            "6 7 invoke acquire\n6.5 7 ok acquire {\"validity_ms\":1,\"fence\":F}\n7 7 info lost\n",
        ),
        (
            "mutual-exclusion-validity",
            "6 7 invoke acquire\n6.5 7 ok acquire {\"validity_ms\":1,\"fence\":F}\n7 7 info lost\n",
        ),
        (
            "honest-outcome",
            "6 7 invoke acquire\n6.5 7 ok acquire {\"validity_ms\":1,\"fence\":F}\n7 7 info lost\n",
        ),
        (
            "fence-monotonicity",
            "6 7 invoke acquire\n6.5 7 ok acquire {\"validity_ms\":1,\"fence\":3}\n7 7 info lost\n",
        ),
        (
            "mutual-exclusion-effect",
            "6 7 invoke write {\"read\":5,\"wrote\":6}\n7 7 ok write\n",
        ),
        (
            "lost-updates",
            "6 7 invoke add {\"element\":\"gone F\"}\n7 7 ok add\n",
        ),
        (
            "coupons",
            "6 7 invoke take\n7 7 ok take {\"read\":0,\"left\":-1}\n",
        ),
        (
            "lottery",
            "6 7 invoke draw {\"round\":F}\n7 7 ok draw {\"winners\":[1,2,3]}\n",
        ),
    ] {
        let judgement = long(5_000, "", |turn, start, _| {
            if !planted(turn) {
                return String::new();
            }
            // Times in the plant are counted from the turn's beginning; a fence
            // between this turn's and the next would have to be a fraction.
            let plant = plant.replace('F', &format!("{}", 1_000_000 + turn));
            let lines = plant.lines().map(|line| {
                let (time, rest) = line.split_once(' ').unwrap();
                let time: f64 = time.parse().unwrap();
                format!("{} {rest}\n", start + time)
            });
            lines.collect()
        });
        let found = finding(&judgement, oracle);
        assert_eq!(found.verdict, Violated, "{oracle}");
        if oracle != "fence-monotonicity" {
            assert_eq!(found.violations, 5, "{oracle}: {:#?}", found.examples);
        }
    }
}
