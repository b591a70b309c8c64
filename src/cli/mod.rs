//! The command line: one file a subcommand.

use std::process::ExitCode;

/// Runs the command line of this process and returns its exit code.
pub fn main() -> ExitCode {
    // How lockproof starts itself as a client process; not for people.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == "worker")
    {
        return crate::replay::worker::main();
    }
    ExitCode::from(64)
}
