//! Faults that strike in an order, and only in that.

use crate::world_support::{NoClock, builtin, counts, options, set, sizes, violated};
use lockproof_model::check::{CheckResult, Checker};
use lockproof_model::world::catalogue::Fault;
use lockproof_trace::{Event, FaultEvent, Trace};

const WORDS: &str = "client-crash client-pause overrun";

fn checker<'f>(file: &'f lockproof_model::lock::LockFile, order: &[Fault]) -> Checker<'f> {
    let mut checker = Checker::new(file, options(&sizes(file, 2), 1)).unwrap();
    checker.order(order.to_vec());
    checker
}

fn check(order: &[Fault], words: &str) -> Vec<CheckResult> {
    let file = builtin("token");
    let mut checker = checker(&file, order);
    checker.check_set(&set(words, 3), &NoClock).unwrap()
}

/// Where a trace's first pause and first crash are.
fn first(trace: &Trace, wanted: impl Fn(&FaultEvent) -> bool) -> Option<usize> {
    trace
        .steps
        .iter()
        .position(|step| matches!(&step.event, Event::Fault { fault } if wanted(fault)))
}

#[test]
fn no_fault_strikes_before_its_turn() {
    let file = builtin("token");
    let mut checker = checker(&file, &[Fault::ClientCrash, Fault::ClientPause]);
    let walks = checker.walks(&set(WORDS, 3), 0..200, 60).unwrap();
    let mut pauses = 0;
    for walk in &walks {
        let pause = first(walk, |fault| {
            matches!(fault, FaultEvent::ClientPause { .. })
        });
        let crash = first(walk, |fault| {
            matches!(fault, FaultEvent::ClientCrash { .. })
        });
        if let Some(pause) = pause {
            pauses += 1;
            assert!(crash.is_some_and(|crash| crash < pause));
        }
    }
    assert!(pauses > 10, "{pauses}");
}

#[test]
fn an_order_makes_a_world_smaller_and_none_leaves_it_as_it_was() {
    let free = counts(&check(&[], WORDS));
    let crash_first = counts(&check(&[Fault::ClientCrash, Fault::ClientPause], WORDS));
    let pause_first = counts(&check(&[Fault::ClientPause, Fault::ClientCrash], WORDS));
    assert!(crash_first.1 < free.1 && pause_first.1 < free.1);
    assert_ne!(crash_first, pause_first);
    // Names that are not in the set have no place.
    assert_eq!(counts(&check(&[Fault::Loss, Fault::Failover], WORDS)), free);
}

#[test]
fn an_order_can_take_a_violation_away() {
    // With two clients nobody is left to hold the lock twice once one is dead.
    let words = "client-crash client-pause";
    assert!(violated(&check(&[], words)).contains("mutual-exclusion-belief"));
    let dead_first = check(&[Fault::ClientCrash, Fault::ClientPause], words);
    assert!(!violated(&dead_first).contains("mutual-exclusion-belief"));
}
