//! The command line: one file a subcommand.

use std::process::ExitCode;

/// Runs the command line of this process and returns its exit code.
pub fn main() -> ExitCode {
    ExitCode::from(64)
}
