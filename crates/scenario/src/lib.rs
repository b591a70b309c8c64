//! Scenario files: one story each, told once and played three times.
//!
//! A scenario says who is there (topology, clients, workload), what may go wrong
//! (assumptions with budgets and sizes for the model, a plan of faults for free
//! runs) and what is expected of each lock. The model reads it as a world to
//! explore, the gate replays the traces found there, and a free run plays it
//! with working clients under a seeded nemesis. The three must agree, so they
//! read one file.
//!
//! Reading is strict: an unknown key is an error with its line, because a
//! misspelt fault that is silently left out would make every lock pass.
//! `docs/scenarios.md` is the guide, `docs/scenario.schema.json` the schema that
//! editors read.

mod file;
mod observed;
mod registry;
mod validate;

pub use file::{
    Clients, Expectation, Kind, Model, Nemesis, Persistence, Published, Range, Run, SCHEMA,
    Scenario, Topology, Workload, WorkloadKind,
};
pub use observed::{OBSERVABLE, property_of};
pub use registry::{builtin, builtin_names};

/// Why a scenario cannot be used. Each text names the file and, where TOML knows
/// it, line and column.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// Not TOML, or not of this shape.
    #[error("failed to read {file}: {error}{hint}")]
    Shape {
        /// The file's name.
        file: String,
        /// With line, column and the line itself.
        error: Box<toml::de::Error>,
        /// The nearest known key, if the key is unknown.
        hint: String,
    },
    /// Of the right shape, and contradictory.
    #[error("failed to read {file}: line {line}, column {column}: {text}")]
    Sense {
        /// The file's name.
        file: String,
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What is wrong and what to do.
        text: String,
    },
}

impl Scenario {
    /// Reads and checks a scenario; `file` is its name for messages.
    ///
    /// # Errors
    /// See [`ScenarioError`].
    pub fn parse(text: &str, file: &str) -> Result<Scenario, ScenarioError> {
        let scenario: Scenario = toml::from_str(text).map_err(|error| ScenarioError::Shape {
            file: file.into(),
            hint: validate::hint(error.message()),
            error: Box::new(error),
        })?;
        validate::scenario(&scenario).map_err(|fault| {
            let (line, column) = validate::place_of(text, &fault.at);
            ScenarioError::Sense {
                file: file.into(),
                line,
                column,
                text: fault.text,
            }
        })?;
        Ok(scenario)
    }
}

/// The JSON schema of scenario files, as `docs/scenario.schema.json` publishes it.
pub fn json_schema() -> String {
    let schema = schemars::schema_for!(Scenario);
    // A value made of a schema can always be written.
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}
