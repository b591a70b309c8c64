//! Generated histories, judged twice: by the oracles, and by a slow checker that
//! tries every reading of what is unknown. And long ones with planted violations.

mod history_support;
use history_support::*;

use lockproof::history::FindingVerdict::{NotApplicable, NotObserved, Unknown, Violated};
use lockproof::history::{FindingVerdict, Judgement};
use proptest::prelude::*;

/// What a generated client does; times are ms.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Did {
    Acquire,
    Granted(Option<u64>),
    Refused,
    NobodyKnows,
    Release,
    Released,
    Lost,
    Crash,
}

#[derive(Clone, Copy, Debug)]
struct Act {
    time: u64,
    client: usize,
    did: Did,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Idle,
    Acquiring,
    Holding,
    Releasing,
}

/// Turns random numbers into a history that a client could have.
fn acts(draws: &[(u64, usize, u8, Option<u64>)]) -> Vec<Act> {
    let mut time = 0;
    let mut states = [State::Idle; 3];
    let mut acts = Vec::new();
    for (step, client, choice, validity) in draws {
        time += step;
        let state = &mut states[*client];
        let (did, next) = match (*state, choice) {
            (_, 0) => (Did::Crash, State::Idle),
            (State::Idle, _) => (Did::Acquire, State::Acquiring),
            (State::Acquiring, 1 | 2) => (Did::Refused, State::Idle),
            (State::Acquiring, 3) => (Did::NobodyKnows, State::Idle),
            (State::Acquiring, _) => (Did::Granted(*validity), State::Holding),
            (State::Holding, 1) => (Did::Lost, State::Idle),
            (State::Holding, _) => (Did::Release, State::Releasing),
            (State::Releasing, _) => (Did::Released, State::Idle),
        };
        *state = next;
        let client = *client;
        acts.push(Act { time, client, did });
    }
    acts
}

fn text(acts: &[Act]) -> String {
    let line = |act: &Act| {
        let Act { time, client, did } = act;
        match did {
            Did::Acquire => format!("{time} {client} invoke acquire"),
            Did::Granted(None) => format!("{time} {client} ok acquire"),
            Did::Granted(Some(ms)) => {
                format!("{time} {client} ok acquire {{\"validity_ms\":{ms}}}")
            }
            Did::Refused => format!("{time} {client} fail acquire"),
            Did::NobodyKnows => format!("{time} {client} info acquire"),
            Did::Release => format!("{time} {client} invoke release"),
            Did::Released => format!("{time} {client} ok release"),
            Did::Lost => format!("{time} {client} info lost"),
            Did::Crash => format!("{time} nemesis info crash {{\"client\":{client}}}"),
        }
    };
    let lines: Vec<String> = acts.iter().map(line).collect();
    history("", &lines.join("\n"))
}

/// A time after every history.
const NEVER: u64 = 1_000_000;

/// A hold under one reading; `None` under a reading in which there is none.
type Interval = Option<(u64, u64)>;

/// One acquire: its client, all intervals that it may have had, and if it surely
/// had one.
struct Acquire {
    client: usize,
    readings: Vec<Interval>,
}

/// All acquires of a history with all their readings, straight from the definition.
fn acquires(acts: &[Act], by_validity: bool) -> Vec<Acquire> {
    let mut all = Vec::new();
    for (index, act) in acts.iter().enumerate() {
        if act.did != Did::Acquire {
            continue;
        }
        let own = |from: usize| {
            let later = acts.iter().enumerate().skip(from);
            later.filter(|(_, other)| other.client == act.client)
        };
        let until = |from: usize, ends: &[Did]| {
            let mut ends = own(from).filter(|(_, other)| ends.contains(&other.did));
            ends.next().map_or(NEVER, |(_, other)| other.time)
        };
        let end = own(index + 1).next();
        let (ended, outcome) =
            end.map_or((NEVER, None), |(at, end)| (end.time, Some((at, end.did))));
        let readings = match outcome {
            Some((_, Did::Refused)) => continue,
            Some((at, Did::Granted(validity))) => {
                let until = until(at + 1, &[Did::Release, Did::Lost, Did::Crash]);
                match validity.filter(|_| by_validity) {
                    Some(validity) => (act.time..=ended)
                        .map(|counted_from| Some((ended, until.min(counted_from + validity))))
                        .collect(),
                    None => vec![Some((ended, until))],
                }
            }
            _ => {
                let until = match outcome {
                    Some((at, Did::NobodyKnows)) => {
                        until(at + 1, &[Did::Acquire, Did::Release, Did::Lost, Did::Crash])
                    }
                    _ => ended,
                };
                let last = ended.min(act.time + 40);
                let begins = (act.time..=last).map(|since| Some((since, until)));
                std::iter::once(None).chain(begins).collect()
            }
        };
        all.push(Acquire {
            client: act.client,
            readings,
        });
    }
    all
}

fn overlap(one: Interval, other: Interval) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.0.max(other.0) < one.1.min(other.1),
        _ => false,
    }
}

/// Two clients held together under this reading.
fn broken(acquires: &[Acquire], reading: &[usize]) -> bool {
    let interval = |index: usize| acquires[index].readings[reading[index]];
    (0..acquires.len()).any(|one| {
        (0..one).any(|other| {
            acquires[one].client != acquires[other].client
                && overlap(interval(one), interval(other))
        })
    })
}

/// Tries every reading; `None` if there are too many.
fn slow(acquires: &[Acquire]) -> Option<FindingVerdict> {
    let readings: usize = acquires
        .iter()
        .map(|acquire| acquire.readings.len())
        .product();
    if readings > 20_000 {
        return None;
    }
    let mut reading = vec![0; acquires.len()];
    let (mut some, mut every) = (false, true);
    loop {
        let broken = broken(acquires, &reading);
        some |= broken;
        every &= broken;
        let Some(next) =
            (0..reading.len()).find(|at| reading[*at] + 1 < acquires[*at].readings.len())
        else {
            break;
        };
        reading[next] += 1;
        reading[..next].fill(0);
    }
    Some(match (some, every) {
        _ if acquires.is_empty() => NotApplicable,
        (true, true) => Violated,
        (true, false) => Unknown,
        _ => NotObserved,
    })
}

fn draw() -> impl Strategy<Value = (u64, usize, u8, Option<u64>)> {
    (0..3u64, 0..3usize, 0..12u8, prop::option::of(0..8u64))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn exclusion_is_judged_as_by_trying_every_reading(draws in prop::collection::vec(draw(), 0..22)) {
        let acts = acts(&draws);
        let text = text(&acts);
        let judgement = judged(&text);
        for (oracle, by_validity) in [("mutual-exclusion-belief", false), ("mutual-exclusion-validity", true)] {
            let found = finding(&judgement, oracle);
            if let Some(slow) = slow(&acquires(&acts, by_validity)) {
                prop_assert_eq!(found.verdict, slow, "{}\n{}\n{:#?}", oracle, text, found);
            }
        }
    }

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

#[test]
fn the_slow_checker_sees_all_three_verdicts() {
    let mut seen = std::collections::BTreeSet::new();
    let mut state = 1u64;
    let mut random = move |below: u64| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    for _ in 0..2_000 {
        let length = random(22);
        let draws: Vec<_> = (0..length)
            .map(|_| {
                let validity = random(8);
                let validity = (random(2) == 0).then_some(validity);
                (random(3), random(3) as usize, random(12) as u8, validity)
            })
            .collect();
        seen.extend(slow(&acquires(&acts(&draws), true)));
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
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
