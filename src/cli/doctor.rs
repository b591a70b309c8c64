//! `lockproof doctor`: what is here, what works without it, how to get it.
//!
//! Nothing is "ok" for being there. Each server is started once with a clock of its
//! own that stands still, which is what every replay begins with: a program that does
//! not load the clock library, or dies of it, is found here.

use comfy_table::{Table, presets};
use lockproof_lab::binaries::{self, Binary};
use lockproof_lab::clock::{ClockError, Library};
use lockproof_lab::proxy::toxiproxy;
use lockproof_lab::server::{OwnClock, Server, ServerError, ServerOptions};
use lockproof_lab::stoppable::unless;
use lockproof_trace::EPOCH_MS;

use super::{Ended, Exit, Failure, machine, screen, signals};

#[derive(clap::Args, Debug)]
pub struct Args {}

/// Runs the subcommand: exit code 1 if replays cannot work.
pub fn run(_args: Args) -> Ended {
    let (servers, unusable) = binaries::look(&binaries::server_directories());
    let library = Library::built_in();
    let toxiproxy = toxiproxy::find_program(&binaries::tool_directories());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::internal)?;
    // Not wrapped: paths and messages are copied from it.
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    // Replays take the first one unless they are told another.
    let mut works = None;
    let mut loaded = None;
    signals::in_order();
    for server in &servers {
        let trying = try_out(server, &library);
        let Some(tried) = runtime.block_on(unless(&signals::came, trying)) else {
            break;
        };
        works.get_or_insert(tried.is_ok());
        loaded = loaded.max(Some(tried.is_ok()));
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
    for error in &unusable {
        table.add_row([
            "broken".into(),
            "server".into(),
            machine::explained(error.to_string()),
        ]);
    }
    if servers.is_empty() {
        table.add_row([
            "missing",
            "redis-server",
            "replays need one; `check` works without: install redis-server or valkey-server",
        ]);
    }
    table.add_row(library_row(&library, loaded));
    match &toxiproxy {
        Ok(path) => table.add_row(["ok".into(), "toxiproxy".into(), path.display().to_string()]),
        Err(_) => table.add_row([
            "missing",
            "toxiproxy",
            "only `--proxy toxiproxy` needs it: put toxiproxy-server on the search path",
        ]),
    };
    screen::print(table.trim_fmt())?;
    Ok(match works {
        Some(true) => Exit::Fine,
        _ => Exit::Violation,
    })
}

/// It is known to be good if a server has loaded it.
fn library_row(library: &Result<Library, ClockError>, loaded: Option<bool>) -> [&'static str; 3] {
    let (mark, says) = match (library, loaded) {
        (Err(_), _) => ("broken", "this system allows no files in memory"),
        (Ok(_), _) if !Library::fits_this_machine(Library::bytes()) => (
            "broken",
            "built for another machine than this program: build lockproof again, here",
        ),
        (Ok(_), None) => ("?", "built in; no server to try it on"),
        (Ok(_), Some(true)) => ("ok", "built in; each server above was tried with it"),
        (Ok(_), Some(false)) => ("?", "built in; no server above works with it"),
    };
    [mark, "clock library", says]
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
        .map_err(|error: ServerError| machine::explained(error.to_string()))
}
