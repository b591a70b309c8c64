//! Baselines: read, written in their order, compared.

use lockproof_report::baseline::Baseline;

use super::{Form, Target, same, text};

pub const TARGET: Target = Target {
    name: "baseline",
    run,
    form: Form::Toml,
    seeds: &[],
    words: &[
        "run",
        "lock",
        "clients",
        "nodes",
        "ttl_ticks",
        "assumptions",
        "verdicts",
        "name",
        "budget",
        "size",
        "holds",
        "violated",
        "unknown",
        "lockproof.baseline/1",
    ],
    inputs: 400,
};

fn run(input: &[u8]) {
    let Some(text) = text(input) else { return };
    match Baseline::parse(text) {
        Ok(baseline) => {
            let written = baseline.render();
            let again = Baseline::parse(&written).expect("what was written can be read");
            same("written and read again", &baseline, &again);
            same("written twice", &written, &again.render());
        }
        Err(error) => assert!(error.to_string().starts_with("failed to read the baseline")),
    }
}
