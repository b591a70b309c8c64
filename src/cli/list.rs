//! `lockproof list`: what can be checked.

use clap::ValueEnum;
use lockproof_lab::nemesis;
use lockproof_model::lock::{LockFile, SETUPS, builtin_names};
use lockproof_model::world::catalogue::{FAULTS, PROPERTIES, SizeUnit};

use super::{Ended, Exit, Failure, screen};

/// What to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    Locks,
    Properties,
    Assumptions,
    Nemesis,
}

#[derive(clap::Args, Debug)]
pub struct Args {
    /// Only these
    #[arg(value_enum)]
    what: Option<What>,
}

/// Runs the subcommand.
pub fn run(args: Args) -> Ended {
    let wants = |what| args.what.is_none_or(|asked| asked == what);
    if wants(What::Locks) {
        section("Locks", locks()?)?;
        section(
            "Locks that are another one on servers with a set-up",
            setups(),
        )?;
    }
    if wants(What::Properties) {
        section("Properties", properties())?;
    }
    if wants(What::Assumptions) {
        section(
            "Assumptions (fault switches; a budget says how often, a size how long or how much)",
            faults(),
        )?;
    }
    if wants(What::Nemesis) {
        section(
            "Nemesis (faults of free runs, and their settings)",
            nemesis(),
        )?;
    }
    Ok(Exit::Fine)
}

fn section(title: &str, rows: Vec<[String; 2]>) -> Result<(), Failure> {
    let mut table = screen::list();
    for row in rows {
        table.add_row(row);
    }
    screen::print(format_args!("{title}\n{}\n", table.trim_fmt()))
}

fn locks() -> Result<Vec<[String; 2]>, Failure> {
    builtin_names()
        .into_iter()
        .map(|name| {
            let file = LockFile::builtin(name).map_err(Failure::internal)?;
            Ok([name.to_owned(), file.description])
        })
        .collect()
}

fn setups() -> Vec<[String; 2]> {
    SETUPS
        .iter()
        .map(|setup| {
            let asked = format!("{} --assume {}", setup.lock, setup.assumptions);
            [setup.name.to_owned(), format!("{asked}: {}", setup.meaning)]
        })
        .collect()
}

fn properties() -> Vec<[String; 2]> {
    PROPERTIES
        .iter()
        .map(|info| [info.id.to_owned(), info.meaning.to_owned()])
        .collect()
}

fn faults() -> Vec<[String; 2]> {
    FAULTS
        .iter()
        .map(|info| {
            let size = match (info.unit, info.size_ttl) {
                (SizeUnit::None, _) => String::new(),
                (SizeUnit::Ticks, 0) => format!(", size {}", info.size),
                (SizeUnit::Writes, _) => format!(", size {} write", info.size),
                (SizeUnit::Ticks, _) => format!(", size TTL + {}", info.size),
            };
            let defaults = format!("(budget {}{size})", info.budget);
            [info.id.to_owned(), format!("{} {defaults}", info.meaning)]
        })
        .collect()
}

fn nemesis() -> Vec<[String; 2]> {
    nemesis::FAULTS
        .iter()
        .map(|fault| {
            let settings = match fault.settings {
                [] => String::new(),
                settings => format!(" ({})", settings.join(", ")),
            };
            [
                fault.name.to_owned(),
                format!("{}{settings}", fault.meaning),
            ]
        })
        .collect()
}
