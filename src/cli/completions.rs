//! `lockproof completions` and `lockproof man`: from the same definition as
//! `--help`.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, Ended, Exit, Failure};

#[derive(clap::Args, Debug)]
pub struct Args {
    /// The shell to complete for
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints completions for a shell.
pub fn run(args: Args) -> Ended {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "lockproof", &mut text);
    print(&text)
}

/// Prints the man page.
pub fn man() -> Ended {
    let mut text = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut text)
        .map_err(Failure::internal)?;
    print(&text)
}

fn print(text: &[u8]) -> Ended {
    std::io::stdout()
        .write_all(text)
        .map_err(Failure::internal)?;
    Ok(Exit::Fine)
}
