//! Scenario files, as the model and the nemesis read them.

use lockproof_campaign::directed;
use lockproof_scenario::{Scenario, ScenarioError};

use super::{Form, Target, line_is_there, same, schedule, text};

pub const TARGET: Target = Target {
    name: "scenario",
    run,
    form: Form::Toml,
    seeds: &[("scenarios", "toml")],
    words: &[
        "kind",
        "masters",
        "replicated",
        "sentinel",
        "cluster",
        "nodes",
        "replicas",
        "faults",
        "client-pause",
        "partition",
        "latency_ms",
        "quiet_ms",
        "fault_ms",
        "together",
        "when",
        "growing",
        "order",
        "budget",
        "size",
        "expect",
        "observed",
        "control",
        "violated",
        "work_ms",
        "some-client",
        "minority",
        "lockproof.scenario/1",
    ],
    inputs: 400,
};

fn run(input: &[u8]) {
    let Some(text) = text(input) else { return };
    match Scenario::parse(text, "fuzz.toml") {
        Ok(scenario) => sound(&scenario),
        Err(ScenarioError::Sense { line, column, .. }) => {
            line_is_there(line, input);
            assert!(column > 0);
        }
        Err(error) => assert!(error.to_string().contains("fuzz.toml")),
    }
}

fn sound(scenario: &Scenario) {
    let written = toml::to_string(scenario).expect("a scenario can be written");
    let again = Scenario::parse(&written, "again.toml").expect("what was written can be read");
    same("written and read again", scenario, &again);
    for lock in scenario.expect.keys() {
        schedule::draw(&scenario.with_lock(lock));
    }
    let config = directed::config(scenario, directed::Depth::default(), None);
    assert_eq!(config.group.len(), scenario.expect.len());
    for group in &config.group {
        // A budget out of range is told here, before anything runs.
        let _ = group.sets();
    }
}
