//! `lockproof compare`: what each of two locks survives that the other does not.

use std::collections::BTreeSet;

use crate::cli_support::*;
use serde_json::Value;

fn compared(arguments: &str) -> (Option<i32>, Value) {
    let said = lockproof(&format!("compare {arguments} --format json"));
    let value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:#?}"));
    (said.code, value)
}

/// Does the lock hold all of these properties under this set? The other way to know: `check`.
fn is_safe(lock: &str, set: &str, properties: &str) -> bool {
    let said = lockproof(&format!(
        "check {lock} --assume {set} --property {properties} --format json"
    ));
    let report: Value = serde_json::from_str(&said.out).unwrap();
    let results = report["results"].as_array().unwrap();
    results.iter().all(|result| result["verdict"] == "holds")
}

#[test]
fn a_lock_is_safe_alone_where_its_own_check_says_so_and_the_others_does_not() {
    let properties = "deadlock-freedom,no-orphan,mutual-exclusion";
    let locks = ["setnx-expire", "token"];
    let mut alone = [0, 0];
    let (code, found) = compared(&format!("setnx-expire token --property {properties}"));
    assert_eq!(code, Some(FINE));
    assert_eq!(found["schema"], "lockproof.compare/1");
    for row in found["rows"].as_array().unwrap() {
        let faults: Vec<&str> = row["faults"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(Value::as_str)
            .collect();
        let set = if faults.is_empty() { "none" } else { faults[0] };
        // A few of them are enough.
        let asked = ["none", "client-crash", "client-skew", "loss", "node-flush"].contains(&set);
        let said = [0, 1].map(|lock| row["met"][lock]["verdict"] == "holds");
        if asked {
            assert_eq!(
                said,
                locks.map(|lock| is_safe(lock, set, properties)),
                "{set}"
            );
        }
        alone[0] += usize::from(said[0] && !said[1]);
        alone[1] += usize::from(said[1] && !said[0]);
    }
    assert_eq!(found["safe_alone"], serde_json::json!(alone));
    assert!(alone.iter().all(|sets| *sets > 0), "{alone:?}");
}

/// Nobody gets through a door that is bricked up.
#[test]
fn that_a_lock_is_safe_which_nobody_acquires_is_not_praised() {
    let place = Place::new();
    let file = place.write(
        "never.lua",
        "return {\n  acquire = function(lock) return busy() end,\n  release = function(lock) end,\n}\n",
    );
    let line = format!("{file} token --property mutual-exclusion --assume client-pause");
    let said = place.run(&format!("compare {line}"));
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    assert!(
        said.out
            .contains("never is never acquired: that it is safe says nothing."),
        "{said:#?}"
    );
    assert!(!said.out.contains("never is safe under"), "{said:#?}");
    let said = place.run(&format!("compare {line} --format json"));
    let found: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(found["never_acquired"], serde_json::json!([true, false]));
    let said = place.run(&format!(
        "check {file} --property mutual-exclusion --assume none"
    ));
    assert!(
        said.out
            .contains("never is never acquired: that it is safe says nothing."),
        "{said:#?}"
    );
}

#[test]
fn differing_sets_are_shown_and_the_others_only_if_they_are_asked_for() {
    let line = "compare setnx-expire token --property deadlock-freedom --assume";
    let differs = lockproof(&format!("{line} client-crash"));
    assert_eq!(differs.code, Some(FINE), "{differs:#?}");
    for text in [
        "client-crash   ✗ stuck        ✓ safe",
        "token is safe under 1 more set of faults than setnx-expire: 1 of 1 against 0.",
        "token is safe under 1 set of faults that breaks setnx-expire: client-crash.",
        "setnx-expire is safe under no set of faults that breaks token.",
    ] {
        assert!(differs.out.contains(text), "no `{text}` in {}", differs.out);
    }
    let alike = lockproof(&format!("{line} none"));
    assert!(!alike.out.contains("no faults"), "{}", alike.out);
    let same = "The same happens to both under 1 set of faults (--verbose shows them).";
    assert!(alike.out.contains(same), "{}", alike.out);
    let all = lockproof(&format!("{line} none --verbose"));
    assert!(all.out.contains("no faults   ✓ safe"), "{}", all.out);
}

#[test]
fn what_is_unknown_is_never_safe_and_makes_the_answer_incomplete() {
    let (code, found) = compared("token-wait setnx-expire --assume node-pause");
    assert_eq!(code, Some(UNKNOWN));
    assert_eq!(found["rows"][0]["met"][0]["verdict"], "unknown");
    assert_eq!(found["rows"][0]["met"][1]["verdict"], "violated");
    assert_eq!(
        (&found["compared"], &found["not_compared"]),
        (&0.into(), &1.into())
    );
    for counts in ["safe", "safe_alone"] {
        assert_eq!(found[counts], serde_json::json!([0, 0]));
    }
    let said = lockproof("compare token-wait setnx-expire --assume node-pause");
    let not = "Not compared: 1 set of faults, where it is unknown";
    assert!(said.out.contains(not), "{}", said.out);
    assert!(!said.out.contains("is safe under"), "{}", said.out);
    // A bound that is hit is no answer either.
    let (code, found) = compared("token set-nx-px --assume none --max-states 10");
    assert_eq!((code, &found["not_compared"]), (Some(UNKNOWN), &1.into()));
}

#[test]
fn properties_that_are_asked_of_one_lock_alone_count_nowhere() {
    let (_, found) = compared("token reentrant-hash --assume client-pause");
    assert_eq!(
        found["asked_of_one"],
        serde_json::json!([[], ["reentrancy"]])
    );
    let compared: BTreeSet<&str> = (found["properties"].as_array().unwrap().iter())
        .flat_map(Value::as_str)
        .collect();
    assert!(!compared.contains("reentrancy") && compared.contains("lease"));
    let said = lockproof("compare token reentrant-hash --assume none --property reentrancy");
    said.failed(
        USAGE,
        &["no property is asked of both token and reentrant-hash"],
    );
}

#[test]
fn a_changed_copy_of_a_lock_is_told_apart_by_its_path() {
    let place = Place::new();
    let text = lockproof_model::lock::LockFile::builtin("token")
        .unwrap()
        .text;
    place.write("changed.lua", &text);
    let said = place.run("compare token changed.lua --assume none --property lease");
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    let same = "token and changed.lua are safe under as many sets of faults: 1 of 1.";
    assert!(said.out.contains(same), "{}", said.out);
}

#[test]
fn a_mistake_in_either_lock_is_told() {
    for arguments in ["tokn token", "token tokn"] {
        let said = lockproof(&format!("compare {arguments} --assume none"));
        said.failed(USAGE, &["did you mean `token`?"]);
        assert_eq!(said.out, "");
    }
    let said = lockproof("compare token");
    assert_eq!(said.code, Some(USAGE), "{said:#?}");
}
