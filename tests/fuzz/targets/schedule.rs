//! Schedules of faults, which scenarios are made into.

use lockproof_lab::nemesis::{Plan, Schedule};
use lockproof_lab::topology::TopologyKind;
use lockproof_scenario::{Kind, Nemesis, Scenario};

use super::same;

/// Draws what the nemesis would do, twice, and reads it again.
pub fn draw(scenario: &Scenario) {
    let plan = plan(scenario, &scenario.nemesis);
    // An hour of faults every few ms is a long list and finds nothing that a
    // minute would not.
    let duration_ms = u64::from(scenario.run.duration_ms.min(60_000));
    let schedule = Schedule::generate(scenario.run.seed, &plan, duration_ms);
    let again = Schedule::generate(scenario.run.seed, &plan, duration_ms);
    same("drawn twice", &schedule, &again);
    let read = Schedule::from_json(&schedule.to_json()).expect("what was written can be read");
    same("written and read again", &schedule, &read);
    let times: Vec<u64> = schedule.steps.iter().map(|step| step.at_ms).collect();
    assert!(times.is_sorted(), "the steps are in order");
}

fn plan(scenario: &Scenario, nemesis: &Nemesis) -> Plan {
    Plan {
        kind: kind(scenario),
        clients: scenario.clients.count as u16,
        faults: nemesis.faults.clone(),
        quiet_ms: (nemesis.quiet_ms.0.into(), nemesis.quiet_ms.1.into()),
        fault_ms: (nemesis.fault_ms.0.into(), nemesis.fault_ms.1.into()),
        together: nemesis.together,
        when: nemesis.when,
        growing: nemesis.growing,
    }
}

fn kind(scenario: &Scenario) -> TopologyKind {
    let topology = &scenario.topology;
    match topology.kind {
        Kind::Single => TopologyKind::Single,
        _ => TopologyKind::Masters {
            nodes: topology.nodes.unwrap_or(5).into(),
        },
    }
}
