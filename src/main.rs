//! The `lockproof` program.

mod cli;
mod worker;

fn main() -> std::process::ExitCode {
    cli::main()
}
