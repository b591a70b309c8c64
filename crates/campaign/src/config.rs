//! The file that says what a run covers.
//!
//! A run is a list of groups; a group is locks x assumption sets x sizes. What
//! is expected of each cell stands in the baseline, a file of its own, because
//! it changes for other reasons.

use std::collections::BTreeMap;

use lockproof_model::world::catalogue::{FAULTS, Fault, Property, Switch};
use serde::Deserialize;

/// The schema name that this version reads.
pub const SCHEMA: &str = "lockproof.run/1";

/// The run that `lockproof run` does unless told otherwise.
pub const DEFAULT: &str = include_str!("../reports/matrix.toml");

/// The run that `lockproof run --full` does.
pub const FULL: &str = include_str!("../reports/full.toml");

/// A run file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Seed of walks and guards.
    pub seed: u64,
    /// Replays of each counterexample.
    pub replays: u32,
    /// Random walks replayed for each lock and assumption set.
    pub walks: u32,
    /// Moves of each walk.
    pub walk_moves: usize,
    /// Most states of one exploration.
    pub states_max: u64,
    /// Most seconds of one assumption set: what is not explored by then is unknown, and the others
    /// are answered. Without it an hour.
    pub seconds_max: Option<u64>,
    /// Beside the sets of the file, those of up to so many of a group's faults which tell what breaks
    /// each property and under what it holds. The command line asks for it; its report names them.
    #[serde(skip)]
    pub frontier: Option<u32>,
    /// What to check.
    pub group: Vec<Group>,
}

/// Locks x assumption sets at one size.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Built-in names or paths of lock files.
    pub locks: Vec<String>,
    /// Each set as fault names; `[]` is "no faults".
    pub assumptions: Vec<Vec<String>>,
    /// Property ids; all of them if left out.
    #[serde(default)]
    pub properties: Vec<String>,
    /// Competing clients.
    #[serde(default = "two")]
    pub clients: u8,
    /// Servers; what the lock asks for if left out.
    pub nodes: Option<u8>,
    /// The lease in ticks.
    #[serde(default = "three")]
    pub ttl_ticks: u8,
    /// Budgets other than the default, by fault name.
    #[serde(default)]
    pub budget: BTreeMap<String, u8>,
    /// Sizes other than the default, by fault name.
    #[serde(default)]
    pub size: BTreeMap<String, u8>,
    /// Faults that strike in this order. Scenarios have one; a run file does not,
    /// for its report would not tell.
    #[serde(skip)]
    pub order: Vec<Fault>,
}

fn two() -> u8 {
    2
}

fn three() -> u8 {
    3
}

/// Why a run file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("failed to read the run file: {0}")]
    Toml(#[from] toml::de::Error),
    #[error("failed to read the run file: its schema is `{found}`, this version reads `{SCHEMA}`")]
    Schema { found: String },
    #[error("failed to read the run file: there is no {what} `{name}`; there are {known}")]
    Unknown {
        what: &'static str,
        name: String,
        known: String,
    },
    #[error("failed to read the run file: {0}")]
    Range(String),
}

impl Config {
    /// Reads and checks a run file's text.
    ///
    /// # Errors
    /// See [`ConfigError`]; TOML errors carry line and column.
    pub fn parse(text: &str) -> Result<Config, ConfigError> {
        let config: Config = toml::from_str(text)?;
        if config.schema != SCHEMA {
            return Err(ConfigError::Schema {
                found: config.schema,
            });
        }
        if config.replays == 0 {
            return Err(ConfigError::Range("`replays` must be at least 1".into()));
        }
        if config.seconds_max == Some(0) {
            return Err(ConfigError::Range(
                "`seconds_max` must be at least 1".into(),
            ));
        }
        for group in &config.group {
            group.sets()?;
            group.properties(false)?;
        }
        Ok(config)
    }
}

impl Group {
    /// The assumption sets with budgets and sizes, each in catalogue order.
    ///
    /// # Errors
    /// If a name is unknown or a number out of range.
    pub fn sets(&self) -> Result<Vec<Vec<Switch>>, ConfigError> {
        self.assumptions
            .iter()
            .map(|names| {
                let mut set = names
                    .iter()
                    .map(|name| self.switch(name))
                    .collect::<Result<Vec<_>, _>>()?;
                set.sort();
                Ok(set)
            })
            .collect()
    }

    fn switch(&self, name: &str) -> Result<Switch, ConfigError> {
        let fault = Fault::parse(name).ok_or_else(|| ConfigError::Unknown {
            what: "assumption",
            name: name.into(),
            known: FAULTS.map(|info| info.id).join(", "),
        })?;
        let budget = self
            .budget
            .get(name)
            .copied()
            .unwrap_or(fault.info().budget);
        let size = self
            .size
            .get(name)
            .copied()
            .unwrap_or_else(|| fault.default_size(self.ttl_ticks));
        if !(1..=7).contains(&budget) || size > 20 {
            let text = format!("{name}: a budget is 1 to 7, a size at most 20");
            return Err(ConfigError::Range(text));
        }
        Ok(Switch {
            fault,
            budget,
            size,
        })
    }

    /// The properties to answer for: those that are named, or the usual ones of a lock that
    /// claims to be fair or does not.
    ///
    /// # Errors
    /// If an id is unknown.
    pub fn properties(&self, fair: bool) -> Result<Vec<Property>, ConfigError> {
        let all = lockproof_model::world::catalogue::PROPERTIES;
        if self.properties.is_empty() {
            return Ok(Property::usual(fair));
        }
        self.properties
            .iter()
            .map(|id| {
                Property::parse(id).ok_or_else(|| ConfigError::Unknown {
                    what: "property",
                    name: id.clone(),
                    known: all.map(|info| info.id).join(", "),
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_run_file_is_valid() {
        let config = Config::parse(DEFAULT).unwrap();
        assert!(!config.group.is_empty());
        assert!(config.replays >= 20 && config.walks >= 50 && config.walk_moves >= 40);
    }

    #[test]
    fn the_full_run_file_has_every_lock_under_every_fault_and_no_set_twice() {
        let config = Config::parse(FULL).unwrap();
        assert!(config.seconds_max.is_some(), "it ends");
        let mut worlds = BTreeMap::new();
        for group in &config.group {
            for lock in &group.locks {
                for set in group.sets().unwrap() {
                    let key = (lock, group.clients, group.nodes, group.ttl_ticks, set);
                    *worlds.entry(key).or_insert(0) += 1;
                }
            }
        }
        let twice: Vec<_> = worlds.iter().filter(|(_, count)| **count > 1).collect();
        assert!(twice.is_empty(), "{twice:?}");
        for lock in lockproof_model::lock::builtin_names() {
            for info in FAULTS {
                let alone = worlds.keys().any(|(name, clients, _, _, set)| {
                    let only = set.len() == 1 && set[0].fault == info.fault;
                    name.as_str() == lock && *clients == 2 && only
                });
                assert!(alone, "{lock} under {}", info.id);
            }
        }
    }

    #[test]
    fn no_time_at_all_is_refused() {
        let text = DEFAULT.replacen("walks = 50", "walks = 50\nseconds_max = 0", 1);
        let error = Config::parse(&text).unwrap_err().to_string();
        assert!(
            error.contains("`seconds_max` must be at least 1"),
            "{error}"
        );
    }

    #[test]
    fn an_unknown_assumption_is_named_with_what_there_is() {
        let text = DEFAULT.replacen("client-crash", "client-crush", 1);
        let error = Config::parse(&text).unwrap_err().to_string();
        assert!(
            error.contains("client-crush") && error.contains("client-pause"),
            "{error}"
        );
    }

    #[test]
    fn a_toml_error_tells_its_line() {
        let error = Config::parse("schema = \n").unwrap_err().to_string();
        assert!(error.contains("line 1"), "{error}");
    }
}
