//! Scenario files: the built-in ones, their schema, and what is wrong with bad ones.

use std::path::{Path, PathBuf};

use lockproof_lab::nemesis::{FAULTS, FaultInfo, FaultSpec, When};
use lockproof_scenario::{
    OBSERVABLE, Scenario, ScenarioError, builtin, builtin_names, json_schema,
};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// A whole scenario with one thing changed.
fn changed(from: &str, to: &str) -> String {
    let text = builtin("gc-pause").unwrap();
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

fn error(text: &str) -> String {
    Scenario::parse(text, "mine.toml").unwrap_err().to_string()
}

#[test]
fn every_file_of_the_folder_is_built_in_under_its_own_name() {
    let mut files: Vec<String> = std::fs::read_dir(root().join("scenarios"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    let mut names: Vec<String> = builtin_names().iter().map(|name| (*name).into()).collect();
    files.sort();
    names.sort();
    assert_eq!(files, names);
    for name in names {
        let scenario = Scenario::parse(builtin(&name).unwrap(), &name).unwrap();
        assert_eq!(scenario.name, name);
    }
}

#[test]
fn the_published_schema_is_the_programs_and_accepts_every_scenario() {
    let published = read(&root().join("docs/scenario.schema.json"));
    assert_eq!(
        published,
        json_schema(),
        "run `lockproof scenario schema > docs/scenario.schema.json`"
    );
    let schema = serde_json::from_str(&published).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for name in builtin_names() {
        let value: toml::Value = toml::from_str(builtin(name).unwrap()).unwrap();
        let value = serde_json::to_value(value).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
    let wrong = serde_json::json!({ "schema": "lockproof.scenario/1", "nme": "x" });
    assert!(!validator.is_valid(&wrong));
}

#[test]
fn the_guides_example_is_a_scenario() {
    let guide = read(&root().join("docs/scenarios.md"));
    let mut examples = 0;
    for block in guide.split("```toml\n").skip(1) {
        let text = block.split("```").next().unwrap();
        Scenario::parse(text, "docs/scenarios.md").unwrap();
        examples += 1;
    }
    assert!(examples > 0);
}

#[test]
fn an_unknown_key_is_told_with_its_line_and_the_nearest_one() {
    let text = error(&changed("assumptions =", "asumptions ="));
    assert!(text.contains("mine.toml"), "{text}");
    assert!(text.contains("line 1"), "{text}");
    assert!(text.contains("did you mean `assumptions`?"), "{text}");
}

#[test]
fn contradictions_are_told_with_their_line() {
    let cases = [
        (
            "[\"client-pause\"]",
            "[\"client-paus\"]",
            "did you mean `client-pause`?",
        ),
        (
            "[\"client-pause\"]",
            "[\"client-pause\", \"client-pause\"]",
            "twice",
        ),
        (
            "kind = \"single\"",
            "kind = \"single\"\nnodes = 3",
            "masters",
        ),
        (
            "kind = \"single\"",
            "kind = \"single\"\nreplicas = 2",
            "replicated",
        ),
        (
            "[\"client-pause\"]",
            "[\"client-pause\", \"shared-owner\"]",
            "`shared_owner` and `shared-owner` among the model's assumptions tell one story",
        ),
        (
            "kind = \"single\"",
            "kind = \"single\"\n[clients]\nshared_owner = true",
            "`shared_owner` and `shared-owner` among the model's assumptions tell one story",
        ),
        (
            "fault_ms = [2300, 2800]",
            "fault_ms = [2800, 2300]",
            "from the smaller to the larger",
        ),
        (
            "quiet_ms = [500, 1000]",
            "quiet_ms = [9000, 9500]",
            "the run ends after",
        ),
        (
            "\"mutual-exclusion-belief\"",
            "\"mutual-exclusion-belif\"",
            "did you mean `mutual-exclusion-belief`?",
        ),
        ("name = \"gc-pause\"", "name = \"GC pause\"", "lower-case"),
        (
            "lockproof.scenario/1",
            "lockproof.scenario/9",
            "this version reads",
        ),
        (
            "\"the-holder\"",
            "\"client-5\"",
            "5 clients count from client-0",
        ),
        ("\"the-holder\"", "\"node-0\"", "node-0 is no client"),
        ("[\"the-holder\"]", "[]", "it would strike nobody"),
        (
            "kind = \"single\"",
            "kind = \"single\"\nlatency_ms = 250",
            "raise `timeout_ms` or lower it",
        ),
        (
            "kind = \"guarded-set\"",
            "kind = \"guarded-set\"\nround_ms = 1",
            "it goes from 10 to 600000",
        ),
        (
            "[expect.token]\n",
            "[expect.token]\nwork_ms = [9, 1]\n",
            "token: `work_ms` is [from, to] in ms, from the smaller to the larger",
        ),
        (
            "[expect.token]\n",
            "[expect.token]\nrest_ms = [9, 1]\n",
            "token: `rest_ms` is",
        ),
        (
            "[expect.token]\n",
            "[expect.token]\ntimeout_ms = 0\n",
            "token: a command gives up after 1 to 60000 ms",
        ),
        (
            "[expect.token]\n",
            "[expect.token]\nttl_ms = 10\n",
            "token: a lease lasts 20 to 600000 ms",
        ),
        (
            "[expect.token]\n",
            "[expect.token]\nnemesis = { faults = [{ fault = \"client-pause\", clients = [] }] }\n",
            "token: `clients` of client-pause is empty",
        ),
        (
            "\"mutual-exclusion-belief\",\n  \"lost-updates\",\n]",
            "\"mutual-exclusion-belief\",\n  \"lost-update\",\n]",
            "did you mean `lost-updates`?",
        ),
        (
            "\"mutual-exclusion-belief\",\n  \"lost-updates\",\n]",
            "\"mutual-exclusion-belief\",\n  \"mutual-exclusion-validity\",\n]",
            "the model does not violate `mutual-exclusion-validity`",
        ),
    ];
    for (from, to, says) in cases {
        let text = changed(from, to);
        let told = error(&text);
        assert!(told.contains(says), "{to}: {told}");
        assert!(told.contains("mine.toml: line "), "{to}: {told}");
        assert!(told.contains(", column "), "{to}: {told}");
    }
}

#[test]
fn a_complaint_points_at_the_words() {
    let told = error(&changed("\"the-holder\"", "\"client-9\""));
    let text = builtin("gc-pause").unwrap();
    let line = text.lines().position(|line| line.contains("the-holder"));
    let column = text.lines().nth(line.unwrap()).unwrap().find("the-holder");
    let place = format!(
        "line {}, column {}:",
        line.unwrap() + 1,
        column.unwrap() + 1
    );
    assert!(told.contains(&place), "{told}: {place}");
}

#[test]
fn what_a_locks_own_table_says_stands_in_the_place_of_what_holds_for_all() {
    let own = "[expect.token]\nwork_ms = [7, 8]\nrest_ms = [3, 4]\nttl_ms = 900\n\
               timeout_ms = 70\nnemesis = { growing = true, faults = [{ fault = \"wait-timeout\" }] }\n";
    let text = changed("[expect.token]\n", own);
    let scenario = Scenario::parse(&text, "mine.toml").unwrap();
    let token = scenario.with_lock("token");
    assert_eq!((token.workload.work_ms.0, token.workload.work_ms.1), (7, 8));
    assert_eq!((token.workload.rest_ms.0, token.workload.rest_ms.1), (3, 4));
    assert_eq!((token.clients.ttl_ms, token.clients.timeout_ms), (900, 70));
    assert!(token.nemesis.growing);
    assert_eq!(token.nemesis.faults, [FaultSpec::WaitTimeout {}]);
    for lock in ["redlock", "a-lock-of-nobody"] {
        assert_eq!(scenario.with_lock(lock), scenario, "{lock}");
    }
}

#[test]
fn a_mistake_in_a_locks_own_table_is_told_at_that_table() {
    let text = changed("[expect.token]\n", "[expect.token]\ntimeout_ms = 0\n");
    let line = text.lines().position(|line| line == "[expect.token]");
    let told = error(&text);
    let place = format!("line {}, column 1", line.unwrap() + 1);
    assert!(told.contains(&place), "{told}: {place}");
}

#[test]
fn a_range_is_two_numbers_and_not_the_first_two_of_more() {
    for range in ["[]", "[2300]", "[2300, 2800, 5]"] {
        let told = error(&changed("[2300, 2800]", range));
        assert!(told.contains("are two numbers"), "{range}: {told}");
        assert!(told.contains("line 19"), "{range}: {told}");
    }
}

#[test]
fn what_may_be_demanded_of_free_runs_is_what_oracles_judge() {
    assert_eq!(OBSERVABLE, lockproof_history::ORACLES);
}

#[test]
fn a_fault_may_strike_the_holder_and_wait_until_there_is_one() {
    let text = changed("[nemesis]\n", "[nemesis]\nwhen = \"held\"\n");
    let scenario = Scenario::parse(&text, "mine.toml").unwrap();
    assert_eq!(scenario.nemesis.when, When::Held);
    let told = error(&changed("[nemesis]\n", "[nemesis]\nwhen = \"hold\"\n"));
    assert!(told.contains("did you mean `held`?"), "{told}");
}

#[test]
fn what_is_violated_without_the_fault_is_violated_with_it() {
    let text = changed("violated = [\n", "control = [\"lease\"]\nviolated = [\n");
    // Setnx-expire's lease is violated under the fault as well: consistent.
    assert!(Scenario::parse(&text, "mine.toml").is_ok());
    let text = changed(
        "violated = [\n",
        "control = [\"reentrancy\"]\nviolated = [\n",
    );
    assert!(error(&text).contains("add it to `violated`"));
}

#[test]
fn a_fault_of_another_name_is_an_error_with_its_line() {
    let error = Scenario::parse(
        &changed("fault = \"client-pause\"", "fault = \"client-nap\""),
        "mine.toml",
    );
    assert!(
        matches!(&error, Err(ScenarioError::Shape { .. })),
        "{error:?}"
    );
    assert!(error.unwrap_err().to_string().contains("client-nap"));
}

#[test]
fn the_list_of_free_faults_is_what_files_may_say() {
    // serde names all of them where it does not know one.
    let message = toml::from_str::<FaultSpec>("fault = \"no-such\"").unwrap_err();
    let (_, known) = message.message().split_once("expected one of ").unwrap();
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    assert!(known.into_iter().eq(FAULTS.iter().map(|fault| fault.name)));
    let guide = read(&root().join("docs/scenarios.md"));
    for fault in FAULTS {
        assert!(
            guide.contains(&format!("`{}`", fault.name)),
            "{}",
            fault.name
        );
        for setting in fault.settings {
            assert!(
                guide.contains(&format!("`{setting}`")),
                "{}: {setting}",
                fault.name
            );
        }
    }
}

/// Every fault of this name is known, and has exactly these settings.
#[test]
fn a_free_fault_has_the_settings_that_the_list_says() {
    for fault in FAULTS {
        assert!(accepts(fault.name), "{}", fault.name);
        let one_more = format!("{}, nobody-knows-this = 1", settings(*fault));
        assert!(!parses(&one_more), "{}", fault.name);
        for setting in fault.settings {
            let without: Vec<String> = fault
                .settings
                .iter()
                .filter(|other| *other != setting)
                .map(|other| format!("{other} = {}", value(fault.name, other)))
                .collect();
            let text = format!("fault = \"{}\", {}", fault.name, without.join(", "));
            assert!(
                !parses(text.trim_end_matches(", ")),
                "{} without {setting}",
                fault.name
            );
        }
    }
}

fn accepts(name: &str) -> bool {
    let fault = FAULTS.iter().find(|fault| fault.name == name);
    fault.is_some_and(|fault| parses(&settings(*fault)))
}

fn settings(fault: FaultInfo) -> String {
    let each = fault.settings.iter();
    let each = each.map(|setting| format!(", {setting} = {}", value(fault.name, setting)));
    format!("fault = \"{}\"{}", fault.name, each.collect::<String>())
}

/// Some value that the setting may have.
fn value(fault: &str, setting: &str) -> &'static str {
    match (fault, setting) {
        ("partition", "bytes") => "\"lost\"",
        (_, "how") => "\"dead\"",
        (_, "one_way") => "true",
        (_, "servers") => "[\"nodes\"]",
        (_, "between" | "and" | "clients" | "stay") => "[\"clients\"]",
        _ => "100",
    }
}

fn parses(fault: &str) -> bool {
    let from = "{ fault = \"client-pause\", clients = [\"the-holder\"] }";
    Scenario::parse(&changed(from, &format!("{{ {fault} }}")), "mine.toml").is_ok()
}

#[test]
fn a_published_figure_is_a_share_of_lost_updates() {
    let add = |rate: &str| {
        changed(
            "[expect.setnx-expire]",
            &format!(
                "[published]\nlost_rate = {rate}\nof = \"x\"\nsource = \"y\"\n\n[expect.setnx-expire]"
            ),
        )
    };
    assert!(Scenario::parse(&add("0.18"), "mine.toml").is_ok());
    let text = error(&add("18.0"));
    assert!(text.contains("0.18 stands for 18 %"), "{text}");
    let other = add("0.18").replace("kind = \"guarded-set\"", "kind = \"hold\"");
    let text = error(&other);
    assert!(text.contains("guarded-set"), "{text}");
}

#[test]
fn an_order_names_assumptions_each_once_and_two_at_least() {
    let line = "assumptions = [\"client-pause\"]";
    let with = |assumptions: &str, order: &str| {
        changed(
            line,
            &format!("assumptions = [{assumptions}]\norder = [{order}]"),
        )
    };
    let both = "\"client-pause\", \"client-crash\"";
    let good = Scenario::parse(
        &with(both, "\"client-crash\", \"client-pause\""),
        "mine.toml",
    );
    assert_eq!(good.unwrap().model.faults_in_order().len(), 2);
    for (assumptions, order, problem) in [
        (
            both,
            "\"client-crash\", \"delay\"",
            "not among the assumptions",
        ),
        (
            both,
            "\"client-crash\", \"client-crash\"",
            "two places in the order",
        ),
        (both, "\"client-crash\"", "takes two assumptions at least"),
    ] {
        let text = error(&with(assumptions, order));
        assert!(
            text.contains(problem) && text.contains("mine.toml:"),
            "{text}"
        );
    }
}
