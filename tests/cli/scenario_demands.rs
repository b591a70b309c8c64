//! What scenarios demand of free runs is what was measured, as docs/benchmarks.md has it.

use std::collections::BTreeMap;
use std::path::Path;

use lockproof_scenario::{Expectation, Scenario, builtin, builtin_names, property_of};
use lockproof_torture::rate::Rate;

/// What the table calls a property, and the property.
const NAMES: [(&str, &str); 6] = [
    ("belief", "mutual-exclusion-belief"),
    ("validity", "mutual-exclusion-validity"),
    ("effect", "mutual-exclusion-effect"),
    ("owner-only", "owner-only-release"),
    ("orphan", "no-orphan"),
    ("deadlock", "deadlock-freedom"),
];

/// Five processes repeat what was published; nothing is demanded of them.
const WITHOUT_DEMANDS: &str = "published-set-up";

/// How often each property was seen violated, of how many runs; first those that are
/// demanded.
type Shares = [BTreeMap<&'static str, Rate>; 2];

fn shares(field: &str) -> BTreeMap<&'static str, Rate> {
    let one = |text: &str| {
        let (name, share) = text.trim().rsplit_once(' ').unwrap();
        let (events, runs) = share.split_once('/').unwrap();
        let known = NAMES.iter().find(|(short, _)| *short == name);
        let (_, property) = known.unwrap_or_else(|| panic!("{name}"));
        let number = |text: &str| text.parse::<u64>().unwrap();
        let rate = Rate {
            events: number(events),
            runs: number(runs),
        };
        (*property, rate)
    };
    match field.trim() {
        "–" => BTreeMap::new(),
        some => some.split(',').map(one).collect(),
    }
}

fn measured() -> BTreeMap<(String, String), Shares> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/benchmarks.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, section) = text.split_once("\n## What free runs see\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let names = builtin_names();
    let mut rows = BTreeMap::new();
    for line in section.lines() {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        if let [_, scenario, lock, demanded, rest, _] = fields.as_slice()
            && names.contains(scenario)
        {
            let row = [shares(demanded), shares(rest)];
            let key = ((*scenario).to_owned(), (*lock).to_owned());
            assert!(rows.insert(key, row).is_none(), "twice: {line}");
        }
    }
    rows
}

/// Every scenario with every lock that it breaks in a way that an oracle judges.
fn broken() -> Vec<(Scenario, String, Expectation, Vec<&'static str>)> {
    let mut found = Vec::new();
    for name in builtin_names() {
        let scenario = Scenario::parse(builtin(name).unwrap(), name).unwrap();
        for (lock, expected) in &scenario.expect {
            let judged = NAMES.iter().map(|(_, property)| *property);
            let judged = judged.filter(|id| expected.violated.iter().any(|one| one == id));
            let judged: Vec<&str> = judged.collect();
            if !judged.is_empty() && name != WITHOUT_DEMANDS {
                let one = (scenario.clone(), lock.clone(), expected.clone(), judged);
                found.push(one);
            }
        }
    }
    found
}

#[test]
fn the_table_has_every_lock_that_a_scenario_breaks_with_every_property() {
    let rows = measured();
    let broken = broken();
    assert_eq!(rows.len(), broken.len());
    for (scenario, lock, _, judged) in broken {
        let key = (scenario.name.clone(), lock.clone());
        let row = rows.get(&key).unwrap_or_else(|| panic!("no row: {key:?}"));
        let mut listed: Vec<&str> = row
            .iter()
            .flat_map(|shares| shares.keys().copied())
            .collect();
        let mut judged = judged;
        listed.sort_unstable();
        judged.sort_unstable();
        assert_eq!(listed, judged, "{key:?}");
    }
}

/// By the lower end of the interval of the share of single runs.
fn seen_with_confidence(rate: Rate, runs: u32) -> bool {
    let missed = 1.0 - rate.interval().0;
    1.0 - missed.powi(runs as i32) >= 0.95
}

#[test]
fn what_is_demanded_is_seen_with_95_percent_and_whatever_is_is_demanded() {
    let rows = measured();
    for (scenario, lock, expected, _) in broken() {
        let key = (scenario.name.clone(), lock);
        let [demanded, rest] = &rows[&key];
        let mut asked: Vec<&str> = expected
            .observed
            .iter()
            .map(|oracle| property_of(oracle).unwrap())
            .collect();
        asked.sort_unstable();
        assert_eq!(
            asked,
            demanded.keys().copied().collect::<Vec<_>>(),
            "{key:?}"
        );
        let runs = scenario.run.runs;
        for (property, rate) in demanded {
            let fine = seen_with_confidence(*rate, runs);
            assert!(fine, "{key:?} {property}: {rate} in {runs} runs");
        }
        for (property, rate) in rest {
            let fine = seen_with_confidence(*rate, runs);
            assert!(!fine, "{key:?} {property}: {rate} in {runs} runs is enough");
        }
    }
}
