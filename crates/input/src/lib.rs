//! What users give: files that they name, names that are nearly right. And files that are
//! built in, which they name as well.

mod builtin;
pub mod files;
pub mod nearest;

pub use builtin::{Builtin, names, text};
