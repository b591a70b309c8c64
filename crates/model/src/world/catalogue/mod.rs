//! The one registry of properties and assumptions.
//!
//! Help texts, `lockproof list`, the docs' tables, reports and the checker all
//! read these arrays. The names and meanings are those of the project's
//! catalogue; the order here is the order of every table.

mod consequences;
mod faults;
mod plain;
mod properties;

pub use consequences::{CONSEQUENCES, Consequence};
pub use faults::{Beside, FAULTS, Fault, FaultInfo, Harm, SizeUnit, Switch};
pub use plain::{ORIGINS, Origin};
pub use properties::{Branching, Fair, PROPERTIES, Property, PropertyInfo, Safety};
