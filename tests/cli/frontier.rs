//! `lockproof frontier`: the smallest sets that break, the largest that do not.

use std::collections::BTreeSet;

use crate::cli_support::*;
use serde_json::Value;

fn answers(arguments: &str) -> (Option<i32>, Value) {
    let said = lockproof(&format!("frontier {arguments} --format json"));
    let value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:#?}"));
    (said.code, value)
}

fn names(list: &Value) -> BTreeSet<String> {
    let names = list.as_array().unwrap().iter();
    names
        .map(|one| one.as_str().or(one["name"].as_str()).unwrap().to_owned())
        .collect()
}

fn verdict(lock: &str, property: &str, set: &BTreeSet<String>) -> String {
    let set = set.iter().cloned().collect::<Vec<_>>().join(",");
    let assume = match set.is_empty() {
        true => "none".to_owned(),
        false => set,
    };
    let said = lockproof(&format!(
        "check {lock} --property {property} --assume {assume} --format json"
    ));
    let report: Value = serde_json::from_str(&said.out).unwrap();
    report["results"][0]["verdict"].as_str().unwrap().to_owned()
}

/// The other way to know: every set is checked by itself.
#[test]
fn the_frontier_is_what_checks_of_every_set_say() {
    let faults = ["client-crash", "client-pause", "node-restart-none", "loss"];
    let (lock, property) = ("setnx-expire", "deadlock-freedom");
    let (code, found) = answers(&format!(
        "{lock} --property {property} --assume {}",
        faults.join(",")
    ));
    assert_eq!(code, Some(FINE));
    let row = &found["properties"][0];
    let breaks = row["breaks"].as_array().unwrap();
    let breaks: Vec<_> = breaks
        .iter()
        .map(|one| names(&one["assumptions"]))
        .collect();
    let safe = row["safe"].as_array().unwrap();
    let safe: Vec<_> = safe.iter().map(|one| names(&one["of"])).collect();
    for bits in 0..1 << faults.len() {
        let in_set = faults
            .iter()
            .enumerate()
            .filter(|(at, _)| bits >> at & 1 == 1);
        let set: BTreeSet<String> = in_set.map(|(_, name)| (*name).to_owned()).collect();
        if set.len() > 3 {
            continue;
        }
        let broken = breaks.iter().any(|least| least.is_subset(&set));
        let holds = safe.iter().any(|most| set.is_subset(most));
        assert_ne!(broken, holds, "{set:?}");
        let wanted = if broken { "violated" } else { "holds" };
        assert_eq!(verdict(lock, property, &set), wanted, "{set:?}");
    }
    assert!(!breaks.is_empty() && !safe.is_empty(), "{row}");
    assert!(row["asked"].as_u64() < row["sets"].as_u64(), "{row}");
    // Each with its shortest trace.
    let traces = row["breaks"].as_array().unwrap().iter();
    assert!(traces.clone().all(|one| one["trace"]["steps"].is_array()));
}

#[test]
fn switches_that_change_what_others_mean_are_tried_alone() {
    let (_, found) = answers(
        "reentrant-hash --property mutual-exclusion-belief --assume shared-owner,node-down,client-crash",
    );
    let row = &found["properties"][0];
    let breaks = row["breaks"].as_array().unwrap();
    let breaks: Vec<_> = breaks
        .iter()
        .map(|one| names(&one["assumptions"]))
        .collect();
    let single = |name: &str| BTreeSet::from([name.to_owned()]);
    assert_eq!(breaks, [single("shared-owner"), single("node-down")]);
    assert_eq!(
        (row["asked"].as_u64(), row["sets"].as_u64()),
        (Some(4), Some(4))
    );
}

#[test]
fn a_lock_that_breaks_without_faults_is_safe_under_nothing() {
    let said =
        lockproof("frontier exists-set --property mutual-exclusion-belief --assume loss,delay");
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    assert!(
        said.out.contains("breaks with  no faults (16 steps)"),
        "{}",
        said.out
    );
    assert!(!said.out.contains("safe under"), "{}", said.out);
    assert!(said.out.contains("1 of 4 sets asked for"), "{}", said.out);
}

#[test]
fn what_the_model_does_not_cover_is_unknown_with_its_reason() {
    let said = lockproof("frontier token-wait --property lease --assume loss,node-pause");
    assert_eq!(said.code, Some(UNKNOWN), "{said:#?}");
    let reason = "{node-pause}: WAIT under node-pause is not in the model yet";
    assert!(said.out.contains(reason), "{}", said.out);
    assert!(said.out.contains("safe under   {loss}"), "{}", said.out);
}

#[test]
fn too_many_states_are_unknown_and_nothing_follows_from_them() {
    let (code, found) = answers("token --property lease --assume loss,delay --max-states 500");
    assert_eq!(code, Some(UNKNOWN));
    let row = &found["properties"][0];
    assert_eq!(row["breaks"], serde_json::json!([]));
    let open = row["unknown"].as_array().unwrap();
    assert!(
        open.iter()
            .all(|one| !one["reason"].as_str().unwrap().is_empty()),
        "{row}"
    );
    assert_ne!(open.len(), 0);
}

#[test]
fn mistakes_are_usage_errors() {
    for (arguments, says) in [
        ("token --max-faults 0", "1..=6"),
        ("token --max-faults 7", "1..=6"),
        ("token --property nice", "nice"),
        ("token --assume lose", "did you mean `loss`"),
        ("token --timeout -1", "--timeout"),
        ("no-such-lock", "no-such-lock"),
    ] {
        let said = lockproof(&format!("frontier {arguments}"));
        said.failed(USAGE, &[says]);
    }
}
