//! `lockproof mutate`: small changes of a lock, and what no property notices.

use crate::cli_support::*;
use serde_json::Value;

/// A lock with a check too many: nothing can come of the second one.
const TWICE: &str = r#"return {
  name = "twice",
  scripts = { give = [[
    if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end
    return 0]] },
  acquire = function(lock)
    local set = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if not set then return busy() end
    if set == nil then return busy() end
    return held()
  end,
  release = function(lock)
    script("give", { lock.key }, { lock.token })
  end,
}
"#;

fn findings(said: &Said) -> Value {
    serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:#?}"))
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

/// The mutant of an operator on a line of a file that puts `after` in some place.
fn mutant<'v>(found: &'v Value, operator: &str, place: (&str, u64), after: &str) -> &'v Value {
    let mut all = found["mutants"].as_array().unwrap().iter();
    let (file, line) = place;
    all.find(|one| {
        text(one, "operator") == operator
            && text(one, "file").ends_with(file)
            && one["line"] == line
            && text(one, "after") == after
    })
    .unwrap_or_else(|| panic!("{operator} {place:?} {after}: {found:#}"))
}

#[test]
fn what_breaks_a_property_is_caught_and_what_changes_nothing_is_a_question() {
    let place = Place::new();
    let lock = place.write("twice.lua", TWICE);
    let said = place.run(&format!("mutate {lock} --format json --assume overrun"));
    let found = findings(&said);
    // Without NX everybody has the lock at once.
    let row = mutant(&found, "option", ("twice.lua", 7), "");
    assert_eq!(text(row, "outcome"), "caught", "{row:#}");
    // The second check never sees what the first one lets through.
    let row = mutant(&found, "condition", ("twice.lua", 9), "false");
    assert_eq!(text(row, "outcome"), "equivalent", "{row:#}");
    assert_eq!(
        text(row, "source"),
        "if set == nil then return busy() end",
        "{row:#}"
    );
    // A script in the file has the file's lines.
    let row = mutant(&found, "comparison", ("twice.lua", 4), "~=");
    assert_eq!(text(row, "before"), "==", "{row:#}");
    // Whatever the script replies where it gives nothing back, nobody reads it.
    let row = mutant(&found, "number", ("twice.lua", 5), "-1");
    assert_eq!(text(row, "outcome"), "survives", "{row:#}");
    let question = "with `-1` in place of `0`: is that meant?";
    assert_eq!(text(row, "question"), question);
    // As text: the line, and the question below it.
    let said = place.run(&format!("mutate {lock} --assume overrun"));
    let (_, asked) = said.out.split_once("No property notices").unwrap();
    let line = "twice.lua:5  return 0";
    assert!(asked.contains(line), "{}", said.out);
    assert!(said.out.contains(question), "{}", said.out);
}

/// The other way to know: the mutant is written as a file, and checked like any lock.
#[test]
fn a_caught_mutant_violates_its_property_as_a_file_of_its_own() {
    let place = Place::new();
    let lock = place.write("twice.lua", TWICE);
    let said = place.run(&format!(
        "mutate {lock} --format json --assume client-pause"
    ));
    let found = findings(&said);
    let mut checked = 0;
    for (operator, line, after, changed) in [
        ("option", 7, "", r#"lock.token, "PX", lock.ttl"#),
        ("condition", 8, "true", "if true then return busy() end"),
        ("negation", 8, "", "if set then return busy() end"),
    ] {
        let row = mutant(&found, operator, ("twice.lua", line), after);
        assert_eq!(text(row, "outcome"), "caught", "{row:#}");
        let original = TWICE.lines().nth(line as usize - 1).unwrap();
        let new = match operator {
            "option" => original.replace(r#"lock.token, "NX", "PX", lock.ttl"#, changed),
            _ => changed.to_owned(),
        };
        let file = place.write("mutant.lua", &TWICE.replace(original, &new));
        let property = text(row, "property");
        let set = row["assumptions"].as_array().unwrap();
        let names: Vec<&str> = set.iter().map(|one| text(one, "name")).collect();
        let said = place.run(&format!(
            "check {file} --property {property} --assume {} --format json",
            names.join(",")
        ));
        assert_eq!(said.code, Some(VIOLATION), "{said:#?}");
        let report: Value = serde_json::from_str(&said.out).unwrap();
        let trace = &report["results"][0]["trace"];
        assert!(trace["steps"].is_array(), "{report:#}");
        // And the lock itself does not.
        let said = place.run(&format!(
            "check {lock} --property {property} --assume {}",
            names.join(",")
        ));
        assert_eq!(said.code, Some(FINE), "{said:#?}");
        checked += 1;
    }
    assert_eq!(checked, 3);
}

#[test]
fn any_number_of_threads_says_the_same() {
    let run = |workers: u32| {
        let said = lockproof(&format!(
            "mutate setnx-del --format json --assume client-crash --workers {workers}"
        ));
        assert_eq!(said.code, Some(UNKNOWN), "{said:#?}");
        said.out
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(5));
}

#[test]
fn the_numbers_add_up_and_every_mutant_has_its_outcome() {
    let said = lockproof("mutate setnx-del --format json --assume client-crash");
    let found = findings(&said);
    let summary = found["summary"].as_object().unwrap();
    let mutants = found["mutants"].as_array().unwrap();
    let parts: u64 = summary.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(parts, 2 * mutants.len() as u64, "{summary:?}");
    for mutant in mutants {
        let wanted: &[&str] = match text(mutant, "outcome") {
            "refused" | "unknown" | "out-of-bounds" => &["reason"],
            "caught" => &["property"],
            "survives" | "better" => &["question"],
            "equivalent" => &[],
            other => panic!("{other}: {mutant:#}"),
        };
        for field in wanted {
            assert!(!text(mutant, field).is_empty(), "{field}: {mutant:#}");
        }
    }
}

#[test]
fn a_change_that_mends_a_lock_is_told_with_what_holds_then() {
    let place = Place::new();
    // Nobody can ever take it: there is no key to write over.
    let broken = TWICE.replace("\"NX\", \"PX\"", "\"XX\", \"PX\"");
    let lock = place.write("twice.lua", &broken);
    let said = place.run(&format!(
        "mutate {lock} --format json --assume none --property deadlock-freedom,no-orphan"
    ));
    let found = findings(&said);
    let row = mutant(&found, "option", ("twice.lua", 7), "\"NX\"");
    assert_eq!(text(row, "outcome"), "better", "{row:#}");
    assert_eq!(text(&row["holds"][0], "property"), "deadlock-freedom");
}

/// It ends after 3000 ticks, of which the search comes to a few.
#[test]
fn a_lease_in_the_wrong_unit_is_caught() {
    let place = Place::new();
    let lock = place.write("twice.lua", TWICE);
    let said = place.run(&format!("mutate {lock} --assume none --format json"));
    let found = findings(&said);
    let row = mutant(&found, "option", ("twice.lua", 7), "\"EX\", lock.ttl");
    assert_eq!(text(row, "outcome"), "caught", "{row:#}");
    assert_eq!(text(row, "property"), "lease", "{row:#}");
}

#[test]
fn what_hits_a_limit_is_neither_caught_nor_a_question() {
    // Every search of the lock itself ends at the limit: there is nothing to compare with.
    let said = lockproof("mutate set-nx-px --assume loss --max-states 5");
    assert_eq!(said.code, Some(NOTHING), "{said:#?}");
    let reason = "not compared under loss: more than 5 states";
    assert!(said.out.contains(reason), "{}", said.out);
    assert!(!said.out.contains("No property notices"), "{}", said.out);
    let place = Place::new();
    let lock = place.write("twice.lua", TWICE);
    // There is no time at all.
    let said = place.run(&format!("mutate {lock} --timeout 0 --format json"));
    assert_ne!(said.code, Some(FINE), "{said:#?}");
    let found = findings(&said);
    for outcome in ["caught", "equivalent", "better", "survive"] {
        assert_eq!(found["summary"][outcome], 0, "{said:#?}");
    }
}

#[test]
fn mistakes_are_usage_errors() {
    let place = Place::new();
    let broken = place.write(
        "broken.lua",
        "return {\n acquire = function(lock) return 1 +",
    );
    for (arguments, says) in [
        ("token --property nice", "nice"),
        ("token --assume lose", "did you mean `loss`"),
        ("token --timeout -1", "--timeout"),
        ("token --workers 65", "0 to 64"),
        ("no-such-lock", "no-such-lock"),
        (&broken, "broken.lua:2"),
    ] {
        let said = place.run(&format!("mutate {arguments}"));
        said.failed(USAGE, &[says]);
    }
}
