//! Run files: what `lockproof run` is told to check.

use lockproof_campaign::config::Config;

use super::{Form, Target, text};

pub const TARGET: Target = Target {
    name: "run_file",
    run,
    form: Form::Toml,
    seeds: &[("reports", "matrix.toml")],
    words: &[
        "group",
        "locks",
        "assumptions",
        "properties",
        "clients",
        "nodes",
        "ttl_ticks",
        "budget",
        "size",
        "client-pause",
        "loss",
        "node-restart-none",
        "no-orphan",
        "lockproof.run/1",
    ],
    inputs: 400,
};

fn run(input: &[u8]) {
    let Some(text) = text(input) else { return };
    match Config::parse(text) {
        Ok(config) => {
            for group in &config.group {
                let sets = group.sets().expect("it was checked when it was read");
                assert_eq!(sets.len(), group.assumptions.len());
                let properties = group.properties(false).expect("so were these");
                assert!(!properties.is_empty());
            }
        }
        Err(error) => assert!(error.to_string().starts_with("failed to read the run file")),
    }
}
