//! Schedules out of a seed.
//!
//! The draw knows the plan and nothing else: no clock, no server. So one seed is
//! one schedule, byte for byte, on every machine.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::topology::TopologyKind;
use super::schedule::{Act, Schedule, ScheduleStep};
use super::target::Target;
use super::{FaultSpec, When};

/// What may happen in a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which servers there are.
    pub kind: TopologyKind,
    /// How many clients.
    pub clients: u16,
    /// What may strike, each as likely as the others. Their draws (`some-node`,
    /// `minority`) become definite in the schedule.
    pub faults: Vec<FaultSpec>,
    /// How long nothing is wrong before a fault, in ms: at least, at most.
    pub quiet_ms: (u64, u64),
    /// How long a fault lasts, in ms: at least, at most.
    pub fault_ms: (u64, u64),
    /// How many faults may be in force at once; never two of one name.
    pub together: u16,
    /// What each fault waits for when its time has come.
    pub when: When,
    /// Lengths are not drawn: they go evenly from the least to the most.
    pub growing: bool,
}

/// A fault that was drawn, and the quiet before it, in ms.
struct Drawn {
    quiet_ms: u64,
    fault_ms: u64,
    what: FaultSpec,
}

impl Schedule {
    /// A schedule of this length for this plan. A run begins and ends with quiet.
    pub fn generate(seed: u64, plan: &Plan, duration_ms: u64) -> Schedule {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        let mut steps = Vec::new();
        // When the last fault of each name ends.
        let mut busy_until: BTreeMap<&'static str, u64> = BTreeMap::new();
        for _ in 0..plan.together.max(1) {
            let mut now = 0;
            for Drawn {
                quiet_ms,
                fault_ms,
                what,
            } in row(&mut draw, plan, duration_ms)
            {
                let start = now + quiet_ms;
                let end = start + fault_ms;
                now = end;
                let busy = busy_until.entry(what.name()).or_default();
                if start < *busy {
                    continue;
                }
                *busy = end;
                let id = u32::try_from(steps.len() / 2).unwrap_or(u32::MAX);
                let both = [
                    (start, Act::Start, plan.when),
                    (end, Act::Heal, When::AnyTime),
                ];
                steps.extend(both.map(|(at_ms, act, when)| ScheduleStep {
                    at_ms,
                    id,
                    act,
                    when,
                    what: what.clone(),
                }));
            }
        }
        Schedule::sorted(seed, duration_ms, steps)
    }
}

/// Faults one after the other, as many as the run has time for.
fn row(draw: &mut ChaCha8Rng, plan: &Plan, duration_ms: u64) -> Vec<Drawn> {
    let mut row: Vec<Drawn> = Vec::new();
    let mut now = 0;
    while !plan.faults.is_empty() {
        let quiet_ms = between(draw, plan.quiet_ms);
        // At least one, or a plan without lengths would never end.
        let fault_ms = match plan.growing {
            true => (plan.fault_ms.0 + plan.fault_ms.1).div_ceil(2).max(1),
            false => between(draw, plan.fault_ms).max(1),
        };
        now += quiet_ms + fault_ms;
        if now > duration_ms {
            break;
        }
        row.push(Drawn {
            quiet_ms,
            fault_ms,
            what: definite(draw, plan),
        });
    }
    if plan.growing {
        grow(&mut row, plan.fault_ms);
    }
    row
}

/// Gives them lengths evenly from the least to the most; their sum stays within what
/// as many of the middle length take.
fn grow(row: &mut [Drawn], (least, most): (u64, u64)) {
    let gaps = row.len().saturating_sub(1).max(1) as u64;
    let span = most.saturating_sub(least);
    for (one, index) in row.iter_mut().zip(0..) {
        one.fault_ms = (least + span * index / gaps).max(1);
    }
}

fn between(draw: &mut ChaCha8Rng, (least, most): (u64, u64)) -> u64 {
    draw.random_range(least..=most.max(least))
}

/// One of the plan's faults, with its draws made.
fn definite(draw: &mut ChaCha8Rng, plan: &Plan) -> FaultSpec {
    let choice = draw.random_range(0..plan.faults.len() as u64);
    let mut what = plan.faults[choice as usize].clone();
    // One split for the whole fault: its majority is what its minority left over.
    let (few, many) = halves(draw, plan.kind.nodes());
    for targets in what.groups_mut() {
        let mut definite = Vec::new();
        for target in targets.iter() {
            match target {
                Target::SomeClient => {
                    definite.push(Target::client(draw_below(draw, plan.clients)));
                }
                Target::SomeNode => {
                    definite.push(Target::node(draw_below(draw, plan.kind.nodes())));
                }
                Target::Minority => definite.extend(few.iter().copied().map(Target::node)),
                Target::Majority => definite.extend(many.iter().copied().map(Target::node)),
                other => definite.push(*other),
            }
        }
        definite.sort_unstable();
        definite.dedup();
        *targets = definite;
    }
    what
}

fn draw_below(draw: &mut ChaCha8Rng, count: u16) -> u16 {
    draw.random_range(0..count.max(1))
}

/// Fewer than half of the nodes, as many as that may be, and the rest.
fn halves(draw: &mut ChaCha8Rng, nodes: u16) -> (Vec<u16>, Vec<u16>) {
    let mut order: Vec<u16> = (0..nodes).collect();
    for last in (1..nodes).rev() {
        let other = draw.random_range(0..=last);
        order.swap(usize::from(last), usize::from(other));
    }
    let many = order.split_off(usize::from(nodes.saturating_sub(1) / 2));
    (order, many)
}

#[cfg(test)]
mod tests {
    use super::super::Bytes;
    use super::*;

    fn plan(together: u16) -> Plan {
        Plan {
            kind: TopologyKind::Masters { nodes: 5 },
            clients: 3,
            faults: vec![
                FaultSpec::Partition {
                    between: vec![Target::Minority],
                    and: vec![Target::Clients, Target::Majority],
                    one_way: false,
                    bytes: Bytes::Lost,
                },
                FaultSpec::ClientPause {
                    clients: vec![Target::SomeClient],
                },
                FaultSpec::ServerPause {
                    servers: vec![Target::SomeNode],
                },
            ],
            quiet_ms: (200, 800),
            fault_ms: (100, 500),
            together,
            when: When::AnyTime,
            growing: false,
        }
    }

    #[test]
    fn lengths_grow_evenly_from_the_least_to_the_most_where_the_plan_says_so() {
        let growing = Plan {
            growing: true,
            quiet_ms: (100, 100),
            fault_ms: (100, 500),
            ..plan(1)
        };
        let lengths = |duration_ms| {
            let schedule = Schedule::generate(3, &growing, duration_ms);
            let starts = schedule.steps.iter().filter(|step| step.act == Act::Start);
            let all: Vec<u64> = starts.map(|step| schedule.length_ms(step.id)).collect();
            assert!(schedule.steps.iter().all(|step| step.at_ms <= duration_ms));
            all
        };
        assert_eq!(lengths(2_000), [100, 200, 300, 400, 500]);
        assert_eq!(lengths(1_200), [100, 300, 500]);
        assert_eq!(lengths(400), [100]);
    }

    #[test]
    fn one_seed_is_one_schedule_byte_for_byte() {
        let text = Schedule::generate(7, &plan(1), 2_500).to_json();
        assert_eq!(text, Schedule::generate(7, &plan(1), 2_500).to_json());
        assert_ne!(text, Schedule::generate(8, &plan(1), 2_500).to_json());
    }

    #[test]
    fn a_schedule_survives_its_text() {
        let schedule = Schedule::generate(1, &plan(3), 60_000);
        assert_eq!(Schedule::from_json(&schedule.to_json()).unwrap(), schedule);
        let empty = Schedule::of(5, &[]);
        assert_eq!(Schedule::from_json(&empty.to_json()).unwrap(), empty);
        let other = schedule.to_json().replace("schedule/1", "schedule/9");
        let error = Schedule::from_json(&other).unwrap_err().to_string();
        assert!(error.contains("schedule/9"), "{error}");
    }

    #[test]
    fn every_fault_heals_within_the_run_and_never_meets_its_like() {
        for seed in 0..50 {
            let schedule = Schedule::generate(seed, &plan(3), 20_000);
            let mut open = BTreeMap::new();
            let mut last = 0;
            assert!(schedule.steps.len() > 10);
            for step in &schedule.steps {
                assert!(last <= step.at_ms && step.at_ms <= 20_000);
                last = step.at_ms;
                match step.act {
                    Act::Start => assert!(open.insert(step.what.name(), step.id).is_none()),
                    Act::Heal => assert_eq!(open.remove(step.what.name()), Some(step.id)),
                }
                let mut what = step.what.clone();
                let targets = what.groups_mut().into_iter().flatten();
                assert!(targets.into_iter().all(|target| !target.is_draw()));
            }
            assert!(open.is_empty());
        }
    }

    #[test]
    fn a_minority_is_less_than_half_and_the_majority_the_rest() {
        let mut draw = ChaCha8Rng::seed_from_u64(1);
        for nodes in 1..8 {
            let (few, many) = halves(&mut draw, nodes);
            assert!(few.len() * 2 < usize::from(nodes));
            assert!(few.len() * 2 + 2 >= usize::from(nodes));
            let mut all = [few, many].concat();
            all.sort_unstable();
            assert_eq!(all, (0..nodes).collect::<Vec<_>>());
        }
    }
}
