//! The guarded resource of a replay checks fences by itself.

use crate::gate_support::options as gate;
use crate::world_support::results;
use lockproof_replay::{ReplayVerdict, replay};
use lockproof_trace::{Event, Trace};

const EFFECT: &str = "mutual-exclusion-effect";

/// Two clients believe that they hold the lock, and the older one writes: a trace that
/// claims a lost update there.
fn refused() -> Trace {
    let belief = "mutual-exclusion-belief";
    let mut results = results("fenced", "overrun").into_iter();
    let found = results.find(|result| result.property == belief);
    let mut trace = found
        .and_then(|result| result.trace)
        .expect("it is violated");
    let mut step = trace.steps.last().expect("a step").clone();
    let Event::Outcome { client, .. } = step.event else {
        panic!("{:?}", step.event);
    };
    step.event = Event::Write {
        client: 1 - client,
        refused: true,
    };
    trace.steps.push(step);
    claimed(trace, EFFECT)
}

/// The trace claims that its last step violates this, and nothing else.
fn claimed(mut trace: Trace, property: &str) -> Trace {
    for step in &mut trace.steps {
        step.violates.clear();
    }
    let last = trace.steps.last_mut().expect("a step");
    last.violates = vec![property.to_owned()];
    trace.property = Some(property.to_owned());
    trace
}

async fn diverges(trace: &Trace) -> (usize, String, String) {
    match replay(trace, "fenced", &gate()).await.verdict {
        ReplayVerdict::Diverged {
            step,
            expected,
            actual,
            ..
        } => (step, expected, actual),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_write_that_the_resource_refuses_loses_no_update() {
    let (_, expected, actual) = diverges(&refused()).await;
    assert!(expected.contains("loses another client's"), "{expected}");
    assert!(
        !actual.contains("which another client wrote since"),
        "{actual}"
    );
}

#[tokio::test]
async fn a_trace_that_takes_a_refused_write_for_accepted_diverges_there() {
    let mut trace = refused();
    let last = trace.steps.last_mut().unwrap();
    let Event::Write { refused, .. } = &mut last.event else {
        panic!("{:?}", last.event);
    };
    *refused = false;
    let (_, expected, actual) = diverges(&trace).await;
    assert_eq!(expected, "the guarded counter takes the write");
    assert_eq!(actual, "the guarded counter refuses the write");
}

#[tokio::test]
async fn a_fence_that_is_above_all_others_is_no_violation_of_monotonicity() {
    let trace = claimed(refused(), "fence-monotonicity");
    let (_, expected, _) = diverges(&trace).await;
    assert!(expected.contains("not above"), "{expected}");
}
