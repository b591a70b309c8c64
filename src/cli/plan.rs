//! From arguments to a validated plan: which lock, which sizes, which
//! assumption sets, which properties.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use lockproof_input::{files, nearest};
use lockproof_model::check::{CheckOptions, Chosen, ExploreOptions, Guard, ShouldStop, Sizes};
use lockproof_model::lock::{LockFile, SETUPS, builtin_names};
use lockproof_model::world::catalogue::{FAULTS, Fault, PROPERTIES, Property, SizeUnit, Switch};
use lockproof_trace::LockRef;

use super::{Failure, supervisor};
use lockproof_scenario::{self as scenario, Scenario};

/// More than any lock file needs to say what it is.
const LOADING: Duration = Duration::from_secs(30);

/// Sizes, assumptions and budgets, as every checking subcommand takes them.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct LockArgs {
    /// A lock file, or the name of a built-in lock
    pub lock: String,
    /// One assumption set: these fault switches together (comma separated); `none` is the set
    /// without faults
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    pub assume: Vec<String>,
    /// One assumption set: every fault switch that can be on beside the others
    #[arg(long, conflicts_with = "assume")]
    pub all: bool,
    /// How often a fault may strike, 1 to 7 (repeatable)
    #[arg(long, value_name = "FAULT=N", value_delimiter = ',')]
    pub budget: Vec<String>,
    /// The size of a fault in ticks, of `failover` in writes (repeatable)
    #[arg(long, value_name = "FAULT=N", value_delimiter = ',')]
    pub size: Vec<String>,
    /// Competing clients, 1 to 4
    #[arg(long, default_value_t = 2)]
    pub clients: u8,
    /// Independent servers [default: what the lock asks for]
    #[arg(long)]
    pub nodes: Option<u8>,
    /// The lease in ticks [default: 3, or what the lock's own durations ask for]
    #[arg(long)]
    pub ttl_ticks: Option<u8>,
    /// Milliseconds of a tick, as the lock file sees them [default: 1000, or what
    /// divides the lock's own durations]
    #[arg(long)]
    pub tick_ms: Option<i64>,
    /// Ticks after which a command without a time-out of its own gives up [default: 1; a
    /// tick more than the lease where faults hold messages up]
    #[arg(long)]
    pub timeout_ticks: Option<u8>,
    /// A value for one of the file's declared parameters (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',')]
    pub param: Vec<String>,
    /// Seed of every random choice
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// A validated [`LockArgs`].
pub struct LockPlan {
    pub file: LockFile,
    pub sizes: Sizes,
    /// The assumption sets: none and each switch alone, unless one was asked for.
    pub sets: Vec<Vec<Switch>>,
    pub seed: u64,
}

impl LockArgs {
    /// Loads the lock and checks every argument.
    pub fn plan(&self, should_stop: &ShouldStop) -> Result<LockPlan, Failure> {
        let _bound = supervisor::watch(supervisor::TIME, &format!("a first look at {}", self.lock));
        let file = load(&self.lock)?;
        self.plan_for(file, should_stop).map_err(Failure::usage)
    }

    fn plan_for(&self, file: LockFile, should_stop: &ShouldStop) -> anyhow::Result<LockPlan> {
        let sizes = Sizes {
            clients: self.clients,
            nodes: self.nodes.unwrap_or(file.nodes.default),
            ttl_ticks: self.ttl_ticks.unwrap_or(Sizes::TTL_TICKS),
            tick_ms: self.tick_ms.unwrap_or(1000),
            timeout_ticks: self.timeout_ticks,
            params: self.params(&file)?,
        };
        let chosen = Chosen {
            ttl_ticks: self.ttl_ticks.is_some(),
            tick_ms: self.tick_ms.is_some(),
        };
        let sizes = sizes.fitted(&file, chosen, should_stop);
        let parts = sizes.ttl_ticks / self.ttl_ticks.unwrap_or(3).max(1);
        let ticks = (sizes.ttl_ticks, parts);
        let sets = if self.all {
            let faults = FAULTS.iter().map(|info| info.fault);
            vec![self.switches(faults.filter(|fault| fault.joins_all()), ticks)?]
        } else if self.assume.is_empty() {
            let mut sets = vec![Vec::new()];
            for info in &FAULTS {
                sets.push(self.switches([info.fault].into_iter(), ticks)?);
            }
            sets
        } else {
            vec![self.switches(parse_faults(&self.assume)?.into_iter(), ticks)?]
        };
        let plan = LockPlan {
            file,
            sizes,
            sets,
            seed: self.seed,
        };
        self.used(&plan)?;
        Ok(plan)
    }

    /// Refuses a number for a fault that is in none of the sets.
    fn used(&self, plan: &LockPlan) -> anyhow::Result<()> {
        let faults: BTreeSet<Fault> = plan.faults().map(|switch| switch.fault).collect();
        let numbers = [("--budget", &self.budget), ("--size", &self.size)];
        for (option, texts) in numbers {
            for text in texts {
                let (id, _) = pair(option, text)?;
                if !faults.contains(&parse_fault(id)?) {
                    bail!(
                        "{option} {text}: no set of faults that is asked for has {id}; name it with --assume"
                    );
                }
            }
        }
        Ok(())
    }

    fn switches(
        &self,
        faults: impl Iterator<Item = Fault>,
        (ttl_ticks, parts): (u8, u8),
    ) -> anyhow::Result<Vec<Switch>> {
        let budgets = numbers("--budget", &self.budget, 1..=7)?;
        let sizes = numbers("--size", &self.size, 1..=60)?;
        let sizeless = |fault: &&Fault| fault.info().unit == SizeUnit::None;
        if let Some(fault) = sizes.keys().find(sizeless) {
            bail!("{} has no size; drop it from --size", fault.info().id);
        }
        Ok(faults
            .map(|fault| Switch {
                fault,
                budget: budgets.get(&fault).copied().unwrap_or(fault.info().budget),
                size: sizes
                    .get(&fault)
                    .copied()
                    .unwrap_or_else(|| fault.size_in_parts(ttl_ticks, parts)),
            })
            .collect())
    }

    fn params(&self, file: &LockFile) -> anyhow::Result<BTreeMap<String, f64>> {
        let mut params = file.checked_params.clone();
        for text in &self.param {
            let (name, value) = pair("--param", text)?;
            if !file.params.contains_key(name) {
                let known: Vec<&str> = file.params.keys().map(String::as_str).collect();
                bail!(
                    "{} declares no parameter `{name}`; {}",
                    file.name,
                    nearest::hint(name, &known)
                );
            }
            let value = value
                .parse()
                .map_err(|_| anyhow!("--param {text}: `{value}` is not a number"))?;
            params.insert(name.to_owned(), value);
        }
        Ok(params)
    }
}

impl LockPlan {
    /// Every fault of its sets, once.
    pub fn faults(&self) -> impl Iterator<Item = Switch> {
        let all: BTreeSet<Switch> = self.sets.iter().flatten().copied().collect();
        all.into_iter()
    }

    /// The properties that were named, or else the usual ones of the lock.
    pub fn asked(&self, named: Vec<Property>) -> Vec<Property> {
        match named.is_empty() {
            true => Property::usual(self.file.fair),
            false => named,
        }
    }

    /// The options of a check with this plan.
    pub fn options(&self, properties: Vec<Property>, explore: ExploreOptions) -> CheckOptions {
        CheckOptions {
            sizes: self.sizes.clone(),
            properties,
            explore,
            guard: Guard::usual(self.seed),
            timed: false,
        }
    }
}

/// A lock file by path, or a built-in lock by name.
pub fn load(name: &str) -> Result<LockFile, Failure> {
    let _bound = supervisor::watch(LOADING, &format!("the loading of {name}"));
    let known = builtin_names();
    if known.contains(&name) {
        return LockFile::builtin(name).map_err(Failure::internal);
    }
    let path = Path::new(name);
    if let Some(setup) = SETUPS.iter().find(|setup| setup.name == name)
        && !path.exists()
    {
        let error = anyhow!(
            "`{name}` has no file of its own: its clients run `{lock}`, and what its servers do is an assumption; \
             ask for {lock} --assume {}",
            setup.assumptions,
            lock = setup.lock,
        );
        return Err(Failure::usage(error));
    }
    if !path.exists() && !name.ends_with(".lua") {
        let error = anyhow!(
            "there is no lock file `{name}`, and no built-in lock of that name; {}",
            nearest::hint(name, &known)
        );
        return Err(Failure::usage(error));
    }
    LockFile::load(path).map_err(Failure::usage)
}

/// A built-in scenario, or a file.
pub fn scenario(name: &str) -> Result<Scenario, Failure> {
    let text = match scenario::builtin(name) {
        Some(text) => return Scenario::parse(text, name).map_err(Failure::internal),
        None => scenario_text(name)?,
    };
    let scenario = Scenario::parse(&text, name).map_err(Failure::usage)?;
    for (lock, expected) in &scenario.expect {
        if let Some(file) = &expected.file {
            called(name, lock, file)?;
        }
    }
    Ok(scenario)
}

/// The lock file of a scenario's table is called as the table is.
fn called(scenario: &str, lock: &str, file: &str) -> Result<(), Failure> {
    let found = load(file).map_err(|failure| {
        failure.context(format!(
            "{scenario}: [expect.{lock}]: failed to load its lock"
        ))
    })?;
    if found.name == lock {
        return Ok(());
    }
    Err(Failure::usage(anyhow!(
        "{scenario}: [expect.{lock}]: the lock of {file} is called `{real}`; call the table [expect.{real}]",
        real = found.name,
    )))
}

fn scenario_text(name: &str) -> Result<String, Failure> {
    let path = Path::new(name);
    if !path.exists() && !name.ends_with(".toml") {
        let error = anyhow!(
            "there is no scenario file `{name}`, and no built-in scenario of that name; {}",
            nearest::hint(name, &scenario::builtin_names())
        );
        return Err(Failure::usage(error));
    }
    files::text(path, 1 << 20)
        .with_context(|| format!("failed to read {name}"))
        .map_err(Failure::usage)
}

/// The lock of a trace: the file that it names if that is the one, or the built-in
/// lock, or a lock file that lies near the trace or here, of the same hash.
pub fn find(lock: &LockRef, trace: &Path) -> Result<LockFile, Failure> {
    let same = |file: &LockFile| file.sha256.eq_ignore_ascii_case(&lock.sha256);
    let named = load(&lock.path);
    if named.as_ref().is_ok_and(same) {
        return named;
    }
    let built_in = LockFile::builtin(&lock.name).ok().filter(same);
    if let Some(file) = built_in.or_else(|| near(trace).into_iter().find(same)) {
        return Ok(file);
    }
    named.map_err(|failure| {
        let hint =
            "no lock file near the trace has the hash that it names; say where it is with --lock";
        failure.context(hint.to_owned())
    })
}

/// Lock files beside a trace, in the folders around it, and here.
fn near(trace: &Path) -> Vec<LockFile> {
    const FOLDERS_UP: usize = 3;
    const FILES_MAX: usize = 500;
    let trace = trace.canonicalize().unwrap_or_else(|_| trace.to_owned());
    let here = std::env::current_dir().unwrap_or_default();
    let around = trace.ancestors().skip(1).take(FOLDERS_UP);
    let folders = around.chain(here.ancestors().take(FOLDERS_UP));
    let entries = folders.filter_map(|folder| std::fs::read_dir(folder).ok());
    entries
        .flat_map(|entries| entries.flatten().take(FILES_MAX))
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "lua"))
        .filter_map(|path| LockFile::load(&path).ok())
        .collect()
}

/// The properties with these ids, or that begin with these words (`mutual-exclusion` means the
/// three that do), each once; none if none is named, which then are the usual ones
/// ([`LockPlan::asked`]).
pub fn properties(names: &[String]) -> Result<Vec<Property>, Failure> {
    let mut properties = Vec::new();
    for name in names {
        for property in family(name).map_err(Failure::usage)? {
            if !properties.contains(&property) {
                properties.push(property);
            }
        }
    }
    Ok(properties)
}

/// The property of this id, or else all that begin with these words.
fn family(name: &str) -> anyhow::Result<Vec<Property>> {
    if let Some(property) = Property::parse(name) {
        return Ok(vec![property]);
    }
    let begins = PROPERTIES
        .iter()
        .filter(|info| nearest::begins_with(info.id, name));
    let family: Vec<Property> = begins.map(|info| info.property).collect();
    if family.is_empty() {
        let known: Vec<&str> = PROPERTIES.iter().map(|info| info.id).collect();
        bail!(
            "there is no property `{name}`; {}",
            nearest::hint(name, &known)
        );
    }
    Ok(family)
}

/// The fault switches with these ids, in catalogue order, each once.
pub fn parse_faults(ids: &[String]) -> anyhow::Result<Vec<Fault>> {
    let ids = ids.iter().map(|id| id.trim()).filter(|id| !id.is_empty());
    let ids: Vec<&str> = ids.collect();
    if ids.is_empty() {
        bail!("--assume names no fault; the set without faults is --assume none");
    }
    if ids.contains(&"none") {
        if ids.iter().any(|id| *id != "none") {
            bail!(
                "`none` is the set without faults, and stands alone; drop it, or check twice: with \
                 --assume none, and with the faults"
            );
        }
        return Ok(Vec::new());
    }
    let mut faults = Vec::new();
    for id in ids {
        faults.push(parse_fault(id)?);
    }
    faults.sort();
    faults.dedup();
    Ok(faults)
}

fn parse_fault(id: &str) -> anyhow::Result<Fault> {
    let known: Vec<&str> = FAULTS.iter().map(|info| info.id).collect();
    Fault::parse(id).ok_or_else(|| {
        anyhow!(
            "there is no assumption `{id}`; {}",
            nearest::hint(id, &known)
        )
    })
}

fn numbers(
    option: &str,
    texts: &[String],
    range: std::ops::RangeInclusive<u8>,
) -> anyhow::Result<BTreeMap<Fault, u8>> {
    let mut numbers = BTreeMap::new();
    for text in texts {
        let (id, value) = pair(option, text)?;
        let fault = parse_fault(id)?;
        let value = value.parse().ok().filter(|value| range.contains(value));
        let Some(value) = value else {
            let (least, most) = (range.start(), range.end());
            bail!("{option} {text}: the number must be from {least} to {most}");
        };
        numbers.insert(fault, value);
    }
    Ok(numbers)
}

fn pair<'a>(option: &str, text: &'a str) -> anyhow::Result<(&'a str, &'a str)> {
    text.split_once('=')
        .ok_or_else(|| anyhow!("{option} {text}: write it as NAME=NUMBER"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_assumption_is_told_its_nearest_name() {
        let error = parse_faults(&["client-paus".into()]).unwrap_err();
        assert!(
            error.to_string().contains("did you mean `client-pause`?"),
            "{error}"
        );
    }

    #[test]
    fn a_part_of_several_assumptions_is_told_all_of_them() {
        let error = parse_faults(&["pause".into()]).unwrap_err();
        let all = "did you mean one of client-pause, node-pause?";
        assert!(error.to_string().contains(all), "{error}");
    }

    fn ids(names: &[&str]) -> Vec<&'static str> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let found = properties(&names).unwrap();
        found.iter().map(|property| property.info().id).collect()
    }

    #[test]
    fn the_words_that_properties_begin_with_mean_all_of_them_and_each_once() {
        let all = [
            "mutual-exclusion-belief",
            "mutual-exclusion-validity",
            "mutual-exclusion-effect",
        ];
        assert_eq!(ids(&["mutual-exclusion"]), all);
        assert_eq!(ids(&["mutual-exclusion", "mutual-exclusion-effect"]), all);
        // A whole id is that property, though another one begins with it.
        assert_eq!(ids(&["no-orphan"]), ["no-orphan"]);
        let error = properties(&["validity".into()]).unwrap_err().to_string();
        assert!(error.contains("`mutual-exclusion-validity`"), "{error}");
    }

    #[test]
    fn budgets_out_of_range_are_refused() {
        let error = numbers("--budget", &["loss=9".into()], 1..=7).unwrap_err();
        assert!(error.to_string().contains("from 1 to 7"), "{error}");
    }

    #[test]
    fn assumption_sets_are_in_catalogue_order_without_repeats() {
        let names = ["loss", "client-crash", "loss"].map(String::from);
        assert_eq!(
            parse_faults(&names).unwrap(),
            [Fault::ClientCrash, Fault::Loss]
        );
    }
}
