//! Whether a scenario makes sense, and where it does not.

use lockproof_input::nearest;
use lockproof_lab::nemesis::FaultSpec;
use lockproof_model::world::catalogue::{FAULTS, Fault, PROPERTIES, Property};

use super::file::{Expectation, Kind, Model, Range, SCHEMA, Scenario, WorkloadKind};
use super::observed::{OBSERVABLE, property_of};

/// Something that makes no sense.
pub(super) struct Complaint {
    /// Words that stand on the line at fault.
    pub at: String,
    /// What is wrong and what to do.
    pub text: String,
}

type Checked = Result<(), Complaint>;

fn complain(at: impl Into<String>, text: impl Into<String>) -> Checked {
    Err(Complaint {
        at: at.into(),
        text: text.into(),
    })
}

/// Line and column, both from 1, at which `words` first stand; the first of the file
/// if nowhere.
pub(super) fn place_of(text: &str, words: &str) -> (usize, usize) {
    let found = text.lines().enumerate().find_map(|(index, line)| {
        let code = line.split('#').next().unwrap_or("");
        let before = &code[..code.find(words)?];
        Some((index + 1, before.chars().count() + 1))
    });
    found.unwrap_or((1, 1))
}

/// What to add to serde's own words about an unknown key: the nearest known one.
pub(super) fn hint(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    let Some(unknown) = names.next().filter(|_| message.starts_with("unknown")) else {
        return String::new();
    };
    nearest::hint(unknown, &names.collect::<Vec<_>>())
}

/// Everything that TOML and serde cannot know.
pub(super) fn scenario(scenario: &Scenario) -> Checked {
    if scenario.schema != SCHEMA {
        let text = format!(
            "its schema is `{}`, and this version reads `{SCHEMA}`",
            scenario.schema
        );
        return complain("schema", text);
    }
    name(&scenario.name)?;
    topology(scenario)?;
    workload(scenario)?;
    model(scenario)?;
    nemesis(scenario)?;
    published(scenario)?;
    if scenario.expect.is_empty() {
        return complain(
            "name",
            "no lock has an expectation; add a table [expect.LOCK] for each lock it is about",
        );
    }
    scenario.expect.iter().try_for_each(|(lock, expected)| {
        expectation(lock, expected)?;
        own_settings(scenario, lock)
    })
}

/// What a lock's own table puts in the place of what holds for all has to make as
/// much sense.
fn own_settings(scenario: &Scenario, lock: &str) -> Checked {
    let own = scenario.with_lock(lock);
    workload(&own)
        .and_then(|()| nemesis(&own))
        .map_err(|wrong| Complaint {
            at: format!("[expect.{lock}]"),
            text: format!("{lock}: {}", wrong.text),
        })
}

fn name(name: &str) -> Checked {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > 60 || !name.chars().all(fine) {
        return complain(
            "name",
            "a name is 1 to 60 lower-case letters, digits and hyphens",
        );
    }
    Ok(())
}

fn topology(scenario: &Scenario) -> Checked {
    let topology = &scenario.topology;
    if topology.nodes.is_some() && topology.kind != Kind::Masters {
        return complain(
            "nodes",
            "`nodes` counts independent masters; say kind = \"masters\" or leave it out",
        );
    }
    if topology.replicas.is_some() && topology.kind != Kind::Replicated {
        return complain(
            "replicas",
            "`replicas` belongs to kind = \"replicated\"; the other kinds have a fixed number",
        );
    }
    in_range("nodes", topology.nodes.map(u32::from), 1..=9)?;
    in_range("replicas", topology.replicas.map(u32::from), 1..=4)?;
    min_replicas(scenario)
}

/// What servers ask of their replicas, and the model with them.
fn min_replicas(scenario: &Scenario) -> Checked {
    const KEY: &str = "min_replicas_to_write";
    let topology = &scenario.topology;
    let replicas = match topology.kind {
        Kind::Single | Kind::Masters => 0,
        Kind::Replicated => topology.replicas.unwrap_or(1),
        Kind::Sentinel => 2,
        Kind::Cluster => 1,
    };
    let asked = topology.min_replicas_to_write;
    if asked.is_some_and(|asked| asked > replicas) {
        let text = format!("a primary has {replicas} replicas here, fewer than it asks for");
        return complain(KEY, text);
    }
    in_range(KEY, asked.map(u32::from), 1..=4)?;
    let lag = topology.min_replicas_max_lag_s;
    in_range("min_replicas_max_lag_s", lag.map(u32::from), 1..=600)?;
    if lag.is_some() && asked.is_none() {
        let text = format!("a lag has a meaning only with `{KEY}`");
        return complain("min_replicas_max_lag_s", text);
    }
    one_story(scenario, KEY, asked.is_some(), Fault::MinReplicas)
}

/// What a key says of free runs, an assumption says to the model.
fn one_story(scenario: &Scenario, key: &str, said: bool, fault: Fault) -> Checked {
    let name = fault.info().id;
    let modelled = scenario.model.assumptions.iter().any(|one| one == name);
    if modelled != said {
        let text = format!(
            "`{key}` and `{name}` among the model's assumptions tell one story: say both or neither"
        );
        return complain(if modelled { name } else { key }, text);
    }
    Ok(())
}

fn workload(scenario: &Scenario) -> Checked {
    let (clients, workload) = (&scenario.clients, &scenario.workload);
    in_range("count", Some(clients.count), 1..=50)?;
    if !(20..=600_000).contains(&clients.ttl_ms) {
        return complain("ttl_ms", "a lease lasts 20 to 600000 ms");
    }
    if !(1..=60_000).contains(&clients.timeout_ms) {
        return complain("timeout_ms", "a command gives up after 1 to 60000 ms");
    }
    if clients.shared_owner && clients.count < 2 {
        return complain("shared_owner", "one owner id takes two clients at least");
    }
    one_story(
        scenario,
        "shared_owner",
        clients.shared_owner,
        Fault::SharedOwner,
    )?;
    ordered("work_ms", workload.work_ms)?;
    ordered("rest_ms", workload.rest_ms)?;
    in_range("coupons", Some(workload.coupons), 1..=10_000_000)?;
    in_range("round_ms", Some(workload.round_ms), 10..=600_000)?;
    distance(scenario)?;
    in_range(
        "duration_ms",
        Some(scenario.run.duration_ms),
        100..=3_600_000,
    )?;
    in_range("runs", Some(scenario.run.runs), 1..=10_000)
}

/// A reply has to come before its command is given up.
fn distance(scenario: &Scenario) -> Checked {
    let latency_ms = scenario.topology.latency_ms;
    in_range("latency_ms", Some(latency_ms), 0..=1000)?;
    let round_trip = 2 * i64::from(latency_ms);
    if latency_ms > 0 && round_trip >= scenario.clients.timeout_ms {
        let text = format!(
            "a reply takes {round_trip} ms, and a command gives up after {} ms; raise `timeout_ms` or lower it",
            scenario.clients.timeout_ms
        );
        return complain("latency_ms", text);
    }
    Ok(())
}

fn model(scenario: &Scenario) -> Checked {
    let model = &scenario.model;
    in_range("clients", Some(u32::from(model.clients)), 1..=4)?;
    in_range("ttl_ticks", Some(u32::from(model.ttl_ticks)), 1..=20)?;
    for (index, name) in model.assumptions.iter().enumerate() {
        if Fault::parse(name).is_none() {
            let hint = nearest::hint(name, &FAULTS.map(|info| info.id));
            return complain(name, format!("there is no assumption `{name}`; {hint}"));
        }
        if model.assumptions[..index].contains(name) {
            return complain(name, format!("the assumption `{name}` stands there twice"));
        }
    }
    for (key, name) in model
        .budget
        .keys()
        .map(|name| ("budget", name))
        .chain(model.size.keys().map(|name| ("size", name)))
    {
        if !model.assumptions.contains(name) {
            let text = format!("a {key} for `{name}`, which is not among the assumptions");
            return complain(name, text);
        }
    }
    order(model)
}

fn order(model: &Model) -> Checked {
    for (index, name) in model.order.iter().enumerate() {
        if !model.assumptions.contains(name) {
            let text =
                format!("`{name}` has a place in the order, and is not among the assumptions");
            return complain(name, text);
        }
        if model.order[..index].contains(name) {
            return complain(name, format!("`{name}` has two places in the order"));
        }
    }
    if model.order.len() == 1 {
        return complain("order", "an order takes two assumptions at least");
    }
    Ok(())
}

fn nemesis(scenario: &Scenario) -> Checked {
    let nemesis = &scenario.nemesis;
    ordered("quiet_ms", nemesis.quiet_ms)?;
    ordered("fault_ms", nemesis.fault_ms)?;
    in_range("together", Some(u32::from(nemesis.together)), 1..=4)?;
    let least = nemesis.quiet_ms.0 + nemesis.fault_ms.0;
    if !nemesis.faults.is_empty() && least >= scenario.run.duration_ms {
        let text = format!(
            "the first fault is over after {least} ms at the earliest, and the run ends after {} ms",
            scenario.run.duration_ms
        );
        return complain("quiet_ms", text);
    }
    let mut faults = nemesis.faults.iter();
    faults.try_for_each(|fault| targets(scenario, fault))
}

/// A fault that strikes nobody would make every lock pass.
fn targets(scenario: &Scenario, fault: &FaultSpec) -> Checked {
    let name = fault.name();
    for (setting, group) in fault.groups() {
        if group.is_empty() && setting != "stay" {
            let text = format!("`{setting}` of {name} is empty: it would strike nobody");
            return complain(name, text);
        }
        for target in group {
            let told = target.to_string();
            let wrong = match setting {
                "clients" | "stay" if !target.is_client() => "no client",
                "servers" if target.is_client() => "no server",
                _ => "",
            };
            if !wrong.is_empty() {
                let text = format!("{told} is {wrong}, which `{setting}` of {name} takes");
                return complain(told, text);
            }
            in_crew(scenario, &told)?;
        }
    }
    Ok(())
}

/// A client that is named is one of those that run.
fn in_crew(scenario: &Scenario, target: &str) -> Checked {
    let number = target.strip_prefix("client-");
    let number = number.and_then(|number| number.parse::<u32>().ok());
    let count = scenario.clients.count;
    match number.filter(|number| *number >= count) {
        Some(_) => complain(
            target,
            format!("there is no {target}: {count} clients count from client-0"),
        ),
        None => Ok(()),
    }
}

fn published(scenario: &Scenario) -> Checked {
    let Some(published) = &scenario.published else {
        return Ok(());
    };
    if !(0.0..=1.0).contains(&published.lost_rate) {
        return complain(
            "lost_rate",
            "`lost_rate` is a share from 0 to 1: 0.18 stands for 18 %",
        );
    }
    if scenario.workload.kind != WorkloadKind::GuardedSet {
        return complain(
            "published",
            "only the guarded-set workload counts lost updates; say kind = \"guarded-set\" or leave [published] out",
        );
    }
    Ok(())
}

fn expectation(lock: &str, expected: &Expectation) -> Checked {
    in_range("nodes", expected.nodes.map(u32::from), 1..=9)?;
    let known = PROPERTIES.map(|info| info.id);
    for name in expected.violated.iter().chain(&expected.control) {
        if Property::parse(name).is_none() {
            let hint = nearest::hint(name, &known);
            return complain(
                name,
                format!("{lock}: there is no property `{name}`; {hint}"),
            );
        }
    }
    if let Some(name) = expected
        .control
        .iter()
        .find(|name| !expected.violated.contains(name))
    {
        let text = format!(
            "{lock}: `{name}` is violated without the fault, so it is with it; add it to `violated`"
        );
        return complain(name, text);
    }
    let mut observed = expected.observed.iter();
    observed.try_for_each(|name| demand(lock, expected, name))
}

/// What free runs are to observe, the model has to violate.
fn demand(lock: &str, expected: &Expectation, oracle: &str) -> Checked {
    if !OBSERVABLE.contains(&oracle) {
        let hint = nearest::hint(oracle, &OBSERVABLE);
        let text = format!("{lock}: there is no oracle `{oracle}`; {hint}");
        return complain(oracle, text);
    }
    match property_of(oracle) {
        Some(property) if !expected.violated.iter().any(|one| one == property) => complain(
            oracle,
            format!(
                "{lock}: free runs are to observe `{oracle}`, and the model does not violate `{property}`; add it to `violated`, or leave the demand out"
            ),
        ),
        _ => Ok(()),
    }
}

fn ordered(name: &str, range: Range) -> Checked {
    if range.0 > range.1 || range.1 > 600_000 {
        return complain(
            name,
            format!("`{name}` is [from, to] in ms, from the smaller to the larger, at most 600000"),
        );
    }
    Ok(())
}

fn in_range(name: &str, value: Option<u32>, range: std::ops::RangeInclusive<u32>) -> Checked {
    match value.filter(|value| !range.contains(value)) {
        Some(value) => complain(
            name,
            format!(
                "`{name}` is {value}; it goes from {} to {}",
                range.start(),
                range.end()
            ),
        ),
        None => Ok(()),
    }
}
