//! The command line: one file a subcommand.
//!
//! Raw arguments become a validated plan before anything runs; clap's types
//! never leave this module. Exit codes are those of [`Exit`]; a run that a signal ended
//! has the signal's, whatever it found until then.

mod attach;
mod check;
mod ci;
mod compare;
mod completions;
mod doctor;
mod early;
mod explore;
mod folder;
mod free;
mod frontier;
mod history;
mod init;
mod list;
mod machine;
mod mutate;
mod plan;
mod real;
mod replay;
mod report;
mod run;
mod scenario;
mod screen;
mod signals;
mod store;
mod supervisor;
mod threads;
mod torture;
mod walk;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What a run of lockproof tells its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// All as expected.
    Fine = 0,
    /// A violation, a divergence, or a difference from the baseline.
    Violation = 1,
    /// Nothing is violated, but something is unknown.
    Unknown = 2,
    /// Nothing ran.
    Nothing = 3,
    /// The command line, or a file that it names, makes no sense.
    Usage = 64,
    /// lockproof itself failed, or the machine did.
    Internal = 70,
    /// SIGHUP came; what was done until then is told.
    HungUp = 129,
    /// SIGINT came (Ctrl-C); what was done until then is told.
    Interrupted = 130,
    /// SIGTERM came; what was done until then is told.
    Terminated = 143,
}

impl Exit {
    /// What two parts of a run come to: the worse, and nothing only if both did nothing.
    fn and(self, other: Exit) -> Exit {
        match (self, other) {
            (Exit::Nothing, other) => other,
            (one, Exit::Nothing) => one,
            (one, other) => one.max(other),
        }
    }
}

/// An error with the exit code that it means.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    error: anyhow::Error,
}

impl Failure {
    /// The user's input is at fault.
    pub fn usage(error: impl Into<anyhow::Error>) -> Failure {
        Failure {
            exit: Exit::Usage,
            error: error.into(),
        }
    }

    /// lockproof or the machine is at fault.
    pub fn internal(error: impl Into<anyhow::Error>) -> Failure {
        Failure {
            exit: Exit::Internal,
            error: error.into(),
        }
    }
}

impl Failure {
    /// Says first what was being done.
    fn context(self, what: String) -> Failure {
        Failure {
            error: self.error.context(what),
            ..self
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Typed errors of the library tell their cause themselves; anyhow's own
        // chain would tell it a second time.
        let mut told = String::new();
        for cause in self.error.chain() {
            let cause = cause.to_string();
            let cause = cause.trim_end();
            if told.is_empty() {
                told = cause.to_owned();
            } else if !told.contains(cause) {
                told = format!("{told}: {cause}");
            }
        }
        f.write_str(&machine::explained(told))
    }
}

/// What a subcommand gives back.
pub type Ended = Result<Exit, Failure>;

/// Proves or breaks distributed locks built on Redis.
#[derive(Parser, Debug)]
#[command(name = "lockproof", version, about, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 all as expected, 1 a violation, 2 unknown, 3 nothing ran, 64 usage, 70 internal;\n129, 130 and 143 ended by SIGHUP, SIGINT and SIGTERM, with what was done so far.\n\nExamples:\n  lockproof check token\n  lockproof check my-lock.lua --assume client-pause,loss\n  lockproof run"
)]
struct Cli {
    /// Memory that lockproof may take, in MB [default: 8192, or three quarters of the
    /// machine's]
    #[arg(long, global = true, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    max_memory: Option<u64>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Write a lock file to begin with, what CI needs to guard it, and say how to go on
    Init(init::Args),
    /// Model-check a lock: prove it or find the shortest way to break it
    Check(check::Args),
    /// Compare two locks: what each survives that the other does not
    Compare(compare::Args),
    /// Find which faults together break a lock, and under which it holds
    Frontier(frontier::Args),
    /// Change a lock in small ways, and list the changes that no property notices
    Mutate(mutate::Args),
    /// Explore the threads of one client: races between callers and renewals
    Threads(threads::Args),
    /// Replay a trace step by step on real servers
    Replay(replay::Args),
    /// Replay random walks through a lock's model on real servers
    Walk(walk::Args),
    /// Check, replay and report a whole matrix of locks and assumptions
    Run(run::Args),
    /// Play scenarios: check, replay and compare with what they expect
    Scenario(scenario::Args),
    /// Let clients work under a seeded nemesis on real servers, and judge what they did
    Torture(torture::Args),
    /// Render a report.json again, or merge the parts of a divided run
    Report(report::Args),
    /// Judge the history of a run, or export it for Jepsen's tools
    History(history::Args),
    /// Serve a lock's model on stateright's Explorer page
    Explore(explore::Args),
    /// Show the locks, properties, assumptions and faults of the nemesis
    List(list::Args),
    /// Say what is installed, what works without it, and how to get it
    Doctor(doctor::Args),
    /// Print shell completions
    Completions(completions::Args),
    /// Print the man page
    Man,
    /// Run a lock file as a client process (used by replays)
    #[command(hide = true)]
    Worker,
    /// Work under a lock as a client of a free run (used by torture)
    #[command(hide = true)]
    Actor,
}

/// Runs the command line of this process and returns its exit code.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // A closed pipe is no reason to complain while printing help.
            let _ = error.print();
            return code(if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Fine
            });
        }
    };
    match cli.command {
        Command::Worker => crate::worker::main(),
        Command::Actor => lockproof_torture::actor::main(),
        command => {
            let memory = cli.max_memory.map(|mb| mb << 20);
            let memory = memory.unwrap_or_else(supervisor::default_memory);
            supervisor::supervise(memory, || told(caught(command)))
        }
    }
}

/// Runs a subcommand; signals ask it to end, and panics are failures.
fn caught(command: Command) -> Ended {
    signals::catch().map_err(Failure::internal)?;
    machine::caught(|| run(command))
}

fn run(command: Command) -> Ended {
    match command {
        Command::Init(args) => init::run(args),
        Command::Check(args) => check::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Replay(args) => replay::run(args),
        Command::Walk(args) => walk::run(args),
        Command::Run(args) => run::run(args),
        Command::Scenario(args) => scenario::run(args),
        Command::Torture(args) => torture::run(args),
        Command::Report(args) => report::run(args),
        Command::History(args) => history::run(args),
        Command::Frontier(args) => frontier::run(args),
        Command::Mutate(args) => mutate::run(args),
        Command::Threads(args) => threads::run(args),
        Command::Explore(args) => explore::run(args),
        Command::List(args) => list::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man => completions::man(),
        // They are processes of their own, and have begun before.
        Command::Worker | Command::Actor => Ok(Exit::Nothing),
    }
}

/// Tells an error, and gives the exit code; a run that a signal ended has the signal's.
fn told(ended: Ended) -> ExitCode {
    if let Err(failure) = &ended {
        screen::note(format_args!("error: {failure}"));
    }
    match signals::exit() {
        Some((exit, signal)) => {
            screen::note(format_args!(
                "ended by {signal}; what was done so far is told above"
            ));
            code(exit)
        }
        None => code(ended.unwrap_or_else(|failure| failure.exit)),
    }
}

fn code(exit: Exit) -> ExitCode {
    ExitCode::from(exit as u8)
}
