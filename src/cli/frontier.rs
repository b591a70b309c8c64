//! `lockproof frontier`: which faults together break a lock, and which do not.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context;
use lockproof_campaign::shell;
use lockproof_model::check::frontier::{Answer, Frontier, Subset, frontier};
use lockproof_model::check::{CheckResult, Checker, ExploreOptions, Verdict};
use lockproof_model::world::catalogue::{Property, Switch};
use lockproof_report::{overview, terminal};
use lockproof_trace::Assumption;
use lockproof_trace::words::printable;
use serde::Serialize;

use super::check::{Format, answered, failure, seconds_of, write_trace};
use super::plan::{self, LockArgs};
use super::screen::{self, Screen};
use super::{Ended, Exit, Failure, signals, supervisor};

/// The name of what `--format json` prints.
const SCHEMA: &str = "lockproof.frontier/1";

#[derive(clap::Args, Debug)]
#[command(
    after_help = "Without --assume every fault switch is tried. Those that change what the others mean are tried alone: shared-owner, min-replicas, node-down, node-down-delayed.\n\nExamples:\n  lockproof frontier token --property mutual-exclusion-validity\n  lockproof frontier my-lock.lua --assume client-crash,client-pause,loss,delay --max-faults 4"
)]
pub struct Args {
    #[command(flatten)]
    lock: LockArgs,
    /// Answer for this property only, or for those that begin with these words, such as
    /// `mutual-exclusion` (repeatable)
    #[arg(long, value_delimiter = ',')]
    property: Vec<String>,
    /// Sets of at most so many faults
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=6))]
    max_faults: u32,
    /// Give a set up beyond this many states: it is unknown
    #[arg(long, default_value_t = 5_000_000)]
    max_states: u64,
    /// Give up after this many seconds: what is not answered by then is unknown [default: 3600]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    timeout: Option<f64>,
    /// Text for people, or one JSON object and nothing else
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write the shortest trace of each set that breaks a property into this folder (JSON
    /// holds them itself)
    #[arg(long, value_name = "DIR", default_value = "traces")]
    traces: PathBuf,
}

/// What is found, as `--format json` prints it.
#[derive(Serialize)]
struct Answers {
    schema: &'static str,
    lock: String,
    max_faults: u32,
    /// The faults, with their budgets and sizes.
    faults: Vec<Assumption>,
    /// Sets that were checked, each for all properties.
    checked: usize,
    properties: Vec<Row>,
}

/// The frontier of one property.
#[derive(Serialize)]
struct Row {
    property: String,
    breaks: Vec<CheckResult>,
    safe: Vec<Safe>,
    unknown: Vec<Open>,
    /// Sets that had to be asked for, of so many.
    asked: usize,
    sets: usize,
}

/// It holds under any `any` of these faults together.
#[derive(Serialize)]
struct Safe {
    any: u32,
    of: Vec<&'static str>,
}

/// A set of which nothing is known.
#[derive(Serialize)]
struct Open {
    faults: Vec<&'static str>,
    reason: String,
}

/// The faults, and what was checked of them.
struct Asked<'a> {
    checker: Checker<'a>,
    /// Those that may be combined, and then those that are tried alone.
    faults: Vec<Switch>,
    combined: u32,
    screen: Screen,
    known: BTreeMap<Subset, Result<Vec<CheckResult>, String>>,
}

/// Runs the subcommand.
pub fn run(args: Args) -> Ended {
    signals::in_order();
    let properties = plan::properties(&args.property)?;
    let timeout = match args.timeout {
        Some(seconds) => seconds_of(seconds)?,
        None => supervisor::TIME,
    };
    supervisor::confine(Some(&args.traces))
        .context("failed to lock this process in")
        .map_err(Failure::internal)?;
    let _watched = supervisor::watch(timeout, &format!("the frontier of {}", args.lock.lock));
    let plan = args.lock.plan(&screen::should_stop())?;
    let named = plan.asked(properties);
    let (mut faults, alone): (Vec<Switch>, Vec<Switch>) =
        plan.faults().partition(|switch| switch.fault.joins_all());
    let combined = faults.len() as u32;
    faults.extend(alone);
    let explore = ExploreOptions {
        states_max: Some(args.max_states),
        ..screen::bounded()
    };
    let options = plan.options(named.clone(), explore);
    let checker = Checker::new(&plan.file, options).map_err(failure)?;
    let answered = answered(&checker, &plan.file)?;
    // In the order in which they were named.
    let properties = named.into_iter().filter(|one| answered.contains(one));
    let properties: Vec<Property> = properties.collect();
    let mut asked = Asked {
        checker,
        faults,
        combined,
        screen: Screen::new(args.format == Format::Json),
        known: BTreeMap::new(),
    };
    // What is wrong with the file is told here.
    let none = asked.checker.check(&[Vec::new()], &asked.screen);
    let none = none.map_err(failure)?;
    for warning in &none.warnings {
        screen::note(format_args!("warning: {}", printable(warning)));
    }
    if none.never_acquires() {
        screen::note(overview::never_acquired(&plan.file.name));
    }
    asked.known.insert(0, Ok(none.results));
    let rows = (properties.iter())
        .map(|property| asked.row(*property, args.max_faults))
        .collect();
    asked.screen.clear();
    let answers = Answers {
        schema: SCHEMA,
        lock: plan.file.name.clone(),
        max_faults: args.max_faults,
        faults: asked.faults.iter().map(assumption).collect(),
        checked: asked.known.len(),
        properties: rows,
    };
    match args.format {
        Format::Json => {
            screen::print(serde_json::to_string(&answers).map_err(Failure::internal)?)?;
        }
        Format::Text => print(&answers, &args)?,
    }
    let open = answers.properties.iter().any(|row| !row.unknown.is_empty());
    Ok(if open { Exit::Unknown } else { Exit::Fine })
}

impl Asked<'_> {
    fn row(&mut self, property: Property, most: u32) -> Row {
        let id = property.info().id;
        let mut found = frontier(self.combined, most, &mut |set| self.answer(set, id));
        let alone = self.combined..self.faults.len() as u32;
        for single in alone.map(|element| 1 << element) {
            found.sets += 1;
            if found.breaks.first() == Some(&0) {
                continue;
            }
            found.asked += 1;
            match self.answer(single, id) {
                Answer::Holds => found.safe.push(single),
                Answer::Breaks => found.breaks.push(single),
                Answer::Unknown => found.unknown.push(single),
            }
        }
        self.told(id, most, found)
    }

    fn told(&self, id: &str, most: u32, found: Frontier) -> Row {
        Row {
            property: id.to_owned(),
            breaks: (found.breaks.iter())
                .filter_map(|set| self.result(*set, id).cloned())
                .collect(),
            safe: (found.safe.iter())
                .map(|set| Safe {
                    any: most.min(set.count_ones()),
                    of: self.names(*set),
                })
                .collect(),
            unknown: (found.unknown.iter())
                .map(|set| Open {
                    faults: self.names(*set),
                    reason: self.reason(*set, id),
                })
                .collect(),
            asked: found.asked,
            sets: found.sets,
        }
    }

    fn answer(&mut self, set: Subset, id: &str) -> Answer {
        if !self.known.contains_key(&set) {
            let switches = self.switches(set);
            let report = self.checker.check(&[switches], &self.screen);
            let results = report.map(|report| report.results);
            self.known
                .insert(set, results.map_err(|error| error.to_string()));
        }
        match self.result(set, id).map(|result| result.verdict) {
            Some(Verdict::Holds) => Answer::Holds,
            Some(Verdict::Violated) => Answer::Breaks,
            Some(Verdict::Unknown) | None => Answer::Unknown,
        }
    }

    fn result(&self, set: Subset, id: &str) -> Option<&CheckResult> {
        let results = self.known.get(&set)?.as_ref().ok()?;
        results.iter().find(|result| result.property == id)
    }

    fn reason(&self, set: Subset, id: &str) -> String {
        let refused = self.known.get(&set).and_then(|known| known.as_ref().err());
        let unknown = self
            .result(set, id)
            .and_then(|result| result.reason.clone());
        refused.cloned().or(unknown).unwrap_or_default()
    }

    fn switches(&self, set: Subset) -> Vec<Switch> {
        let in_set = |at: usize| set >> at & 1 == 1;
        let all = self.faults.iter().enumerate();
        let mut switches: Vec<Switch> =
            all.filter(|(at, _)| in_set(*at)).map(|(_, s)| *s).collect();
        switches.sort_unstable_by_key(|switch| switch.fault);
        switches
    }

    fn names(&self, set: Subset) -> Vec<&'static str> {
        let switches = self.switches(set).into_iter();
        switches.map(|switch| switch.fault.info().id).collect()
    }
}

fn assumption(switch: &Switch) -> Assumption {
    Assumption {
        name: switch.fault.info().id.to_owned(),
        budget: switch.budget,
        size: switch.size,
    }
}

fn print(answers: &Answers, args: &Args) -> Result<(), Failure> {
    for row in &answers.properties {
        screen::print(format_args!("{}, {}", answers.lock, row.property))?;
        let mut label = "breaks with";
        for result in &row.breaks {
            let names = result.assumptions.iter().map(|one| one.name.as_str());
            let length = result.trace.as_ref().map_or(0, |trace| trace.length());
            let set = words(names.collect());
            screen::print(headed(label, &format!("{set} ({length} steps)")))?;
            if let Some(trace) = &result.trace {
                write_trace(&args.traces, trace, false)?;
            }
            label = "";
        }
        label = "safe under";
        for safe in &row.safe {
            let of = words(safe.of.clone());
            let any = match safe.of.len() > safe.any as usize {
                true => format!("any {} of {of}", safe.any),
                false => of,
            };
            screen::print(headed(label, &any))?;
            label = "";
        }
        label = "unknown";
        for open in &row.unknown {
            let set = words(open.faults.clone());
            screen::print(headed(label, &format!("{set}: {}", open.reason)))?;
            label = "";
        }
        let others = match row.unknown.is_empty() {
            true => "the others follow",
            false => "the others follow, or contain one that is unknown",
        };
        screen::print(format_args!(
            "  {} of {} sets asked for; {others}\n",
            row.asked, row.sets
        ))?;
    }
    let checked = format!("Sets checked: {}.", answers.checked);
    if answers.properties.iter().all(|row| row.breaks.is_empty()) {
        return screen::print(checked);
    }
    let folder = args.traces.to_string_lossy();
    let folder = shell::word(&folder);
    screen::print(format_args!(
        "{checked} The shortest trace of each that breaks a property is in {folder}."
    ))
}

/// A line of an answer, behind what kind it is of.
fn headed(label: &str, text: &str) -> String {
    terminal::headed(&format!("  {label:<11}  "), text, screen::page())
}

/// `no faults`, or the set in braces.
fn words(names: Vec<&str>) -> String {
    match names.as_slice() {
        [] => "no faults".to_owned(),
        names => format!("{{{}}}", names.join(", ")),
    }
}
