//! From arguments to a validated plan: which lock, which sizes, which
//! assumption sets, which properties.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{anyhow, bail};

use crate::check::{CheckOptions, ExploreOptions, Sizes};
use crate::lock::{LockFile, builtin_names};
use crate::nearest;
use crate::world::catalogue::{FAULTS, Fault, PROPERTIES, Property, SizeUnit, Switch};
use crate::world::guard::Effort;

use super::Failure;

/// Sizes, assumptions and budgets, as every checking subcommand takes them.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct LockArgs {
    /// A lock file, or the name of a built-in lock
    pub lock: String,
    /// One assumption set: these fault switches together (comma separated)
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    pub assume: Vec<String>,
    /// One assumption set: every fault switch together
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
    /// The lease in ticks
    #[arg(long, default_value_t = 3)]
    pub ttl_ticks: u8,
    /// Milliseconds of a tick, as the lock file sees them
    #[arg(long, default_value_t = 1000)]
    pub tick_ms: i64,
    /// Ticks after which a command without a time-out of its own gives up
    #[arg(long, default_value_t = 1)]
    pub timeout_ticks: u8,
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
    pub fn plan(&self) -> Result<LockPlan, Failure> {
        let file = load(&self.lock)?;
        self.plan_for(file).map_err(Failure::usage)
    }

    fn plan_for(&self, file: LockFile) -> anyhow::Result<LockPlan> {
        let sizes = Sizes {
            clients: self.clients,
            nodes: self.nodes.unwrap_or(file.nodes.default),
            ttl_ticks: self.ttl_ticks,
            tick_ms: self.tick_ms,
            timeout_ticks: self.timeout_ticks,
            params: self.params(&file)?,
        };
        let sets = if self.all {
            // A setting of servers, which takes behaviours away as well.
            let faults = FAULTS.iter().map(|info| info.fault);
            vec![self.switches(faults.filter(|fault| *fault != Fault::MinReplicas))?]
        } else if self.assume.is_empty() {
            let mut sets = vec![Vec::new()];
            for info in &FAULTS {
                sets.push(self.switches([info.fault].into_iter())?);
            }
            sets
        } else {
            vec![self.switches(parse_faults(&self.assume)?.into_iter())?]
        };
        Ok(LockPlan {
            file,
            sizes,
            sets,
            seed: self.seed,
        })
    }

    fn switches(&self, faults: impl Iterator<Item = Fault>) -> anyhow::Result<Vec<Switch>> {
        let budgets = numbers("--budget", &self.budget, 1..=7)?;
        let sizes = numbers("--size", &self.size, 1..=20)?;
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
                    .unwrap_or_else(|| fault.default_size(self.ttl_ticks)),
            })
            .collect())
    }

    fn params(&self, file: &LockFile) -> anyhow::Result<BTreeMap<String, f64>> {
        let mut params = BTreeMap::new();
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
    /// The options of a check with this plan.
    pub fn options(&self, properties: Vec<Property>, explore: ExploreOptions) -> CheckOptions {
        CheckOptions {
            sizes: self.sizes.clone(),
            properties,
            explore,
            guard: guard_effort(self.seed),
        }
    }
}

/// The guard's effort in every check: enough to catch each planted wrong merge
/// of the tests, and a fraction of a second.
pub fn guard_effort(seed: u64) -> Effort {
    Effort {
        seed,
        words: 20,
        length: 2000,
    }
}

/// A lock file by path, or a built-in lock by name.
pub fn load(name: &str) -> Result<LockFile, Failure> {
    let known = builtin_names();
    if known.contains(&name) {
        return LockFile::builtin(name).map_err(Failure::internal);
    }
    let path = Path::new(name);
    if !path.exists() && !name.ends_with(".lua") {
        let error = anyhow!(
            "there is no lock file `{name}`, and no built-in lock of that name; {}",
            nearest::hint(name, &known)
        );
        return Err(Failure::usage(error));
    }
    LockFile::load(path).map_err(Failure::usage)
}

/// The properties with these ids; all of them if none is named.
pub fn properties(ids: &[String]) -> Result<Vec<Property>, Failure> {
    if ids.is_empty() {
        return Ok(PROPERTIES.iter().map(|info| info.property).collect());
    }
    let known: Vec<&str> = PROPERTIES.iter().map(|info| info.id).collect();
    ids.iter()
        .map(|id| {
            Property::parse(id).ok_or_else(|| {
                Failure::usage(anyhow!(
                    "there is no property `{id}`; {}",
                    nearest::hint(id, &known)
                ))
            })
        })
        .collect()
}

/// The fault switches with these ids, in catalogue order, each once.
pub fn parse_faults(ids: &[String]) -> anyhow::Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for id in ids
        .iter()
        .map(|id| id.trim())
        .filter(|id| !id.is_empty() && *id != "none")
    {
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
