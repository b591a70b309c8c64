//! `lockproof doctor`: what is here, what works without it, how to get it.
//!
//! Nothing is "ok" for being there. Each server is started once with a clock of its
//! own that stands still, which is what every replay begins with: a program that does
//! not load the clock library, or dies of it, is found here.

use comfy_table::Table;
use comfy_table::presets;

use crate::replay::binaries::{self, Binary};
use crate::replay::clock::{ClockError, Library};
use crate::replay::proxy::toxiproxy;
use crate::replay::server::{OwnClock, Server, ServerError, ServerOptions};
use crate::trace::EPOCH_MS;

use super::{Ended, Exit, Failure, screen};

#[derive(clap::Args, Debug)]
pub struct Args {}

/// Runs the subcommand: exit code 1 if replays cannot work.
pub fn run(_args: Args) -> Ended {
    let servers = binaries::find(&binaries::server_directories());
    let library = Library::built_in();
    let toxiproxy = toxiproxy::find_program(&binaries::tool_directories());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::internal)?;
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    // Replays take the first one unless they are told another.
    let mut works = None;
    for server in &servers {
        let tried = runtime.block_on(try_out(server, &library));
        works.get_or_insert(tried.is_ok());
        let path = server.path.display();
        table.add_row(match tried {
            Ok(()) => ["ok".into(), server.to_string(), path.to_string()],
            Err(why) => [
                "broken".into(),
                server.to_string(),
                format!("{path}: {why}"),
            ],
        });
    }
    if servers.is_empty() {
        table.add_row([
            "missing",
            "redis-server",
            "replays need one; `check` works without: install redis-server or valkey-server",
        ]);
    }
    table.add_row(match &library {
        Ok(_) if servers.is_empty() => ["?", "clock library", "built in; no server to try it on"],
        Ok(_) => [
            "ok",
            "clock library",
            "built in; each server above was tried with it",
        ],
        Err(_) => [
            "broken",
            "clock library",
            "this system allows no files in memory",
        ],
    });
    match &toxiproxy {
        Ok(path) => table.add_row(["ok".into(), "toxiproxy".into(), path.display().to_string()]),
        Err(_) => table.add_row([
            "missing",
            "toxiproxy",
            "only `--proxy toxiproxy` needs it: put toxiproxy-server on the search path",
        ]),
    };
    screen::print(table)?;
    Ok(match works {
        Some(true) => Exit::Fine,
        _ => Exit::Violation,
    })
}

/// Starts a server on a clock that stands still, and ends it.
async fn try_out(binary: &Binary, library: &Result<Library, ClockError>) -> Result<(), String> {
    let library = library.as_ref().map_err(ToString::to_string)?.clone();
    let options = ServerOptions {
        clock: Some(OwnClock {
            library,
            freeze_at_ms: Some(EPOCH_MS),
        }),
        ..ServerOptions::new(binary.clone())
    };
    let started = Server::start(&options).await;
    started
        .map(drop)
        .map_err(|error: ServerError| error.to_string())
}
