//! `lockproof threads`: what it lists, what it finds, and how it ends.

use crate::cli_support::*;
use serde_json::Value;

/// A scene of few interleavings.
const TWO_LOCKS: &str = "threads threadlocal-reentrant --scene two-locks";

fn with(more: &str) -> String {
    format!("{TWO_LOCKS} {more}")
}

#[test]
fn without_a_handle_the_handles_are_listed() {
    let said = Place::new().run("threads");
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    for handle in ["threadlocal-reentrant", "redisson-watchdog"] {
        assert!(said.out.contains(handle), "{said:#?}");
    }
}

#[test]
fn a_flag_that_all_locks_share_ends_another_locks_renewal() {
    let said = Place::new().run(&with("--variant documented"));
    assert_eq!(said.code, Some(VIOLATION), "{said:#?}");
    assert!(said.out.contains("violates renewal-runs"), "{said:#?}");
    assert!(
        said.out.contains("persistentExpireFlag is false"),
        "{said:#?}"
    );
}

#[test]
fn the_repaired_handle_holds_and_without_its_own_flag_it_does_not() {
    let place = Place::new();
    let said = place.run(&with("--variant repaired"));
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    assert!(!said.out.contains("violated"), "{said:#?}");
    let said = place.run(&with("--without own-flag"));
    assert_eq!(said.code, Some(VIOLATION), "{said:#?}");
    assert!(said.out.contains("renewal-runs"), "{said:#?}");
}

#[test]
fn what_is_given_up_is_unknown_and_never_holds() {
    let said = Place::new().run(&with("--variant repaired --max-executions 3"));
    assert_eq!(said.code, Some(UNKNOWN), "{said:#?}");
    assert!(!said.out.contains("holds"), "{said:#?}");
}

#[test]
fn two_runs_print_the_same_bytes() {
    let place = Place::new();
    let [one, other] = [0, 1].map(|_| place.run(&with("--format json")));
    assert_eq!(one.out, other.out);
    let found: Value = serde_json::from_str(&one.out).unwrap();
    assert_eq!(found["schema"], "lockproof.threads/1");
}

#[test]
fn an_unknown_name_is_told_with_its_nearest() {
    let place = Place::new();
    let said = place.run("threads redison-watchdog");
    said.failed(USAGE, &["redisson-watchdog"]);
    let said = place.run(&with("--variant repared"));
    said.failed(USAGE, &["repaired"]);
}
