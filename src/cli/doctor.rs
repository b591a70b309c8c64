//! `lockproof doctor`: what is here, what works without it, how to get it.

use comfy_table::Table;
use comfy_table::presets;

use crate::replay::proxy::toxiproxy;
use crate::replay::{binaries, clock};

use super::{Ended, Exit, screen};

#[derive(clap::Args, Debug)]
pub struct Args {}

/// Runs the subcommand: exit code 1 if replays cannot work.
pub fn run(_args: Args) -> Ended {
    let servers = binaries::find(&binaries::server_directories());
    let shim = clock::find_shim(&clock::shim_directories());
    let toxiproxy = toxiproxy::find_program(&binaries::tool_directories());
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for server in &servers {
        let what = format!("{} {}", server.name, server.version);
        table.add_row(["ok".into(), what, server.path.display().to_string()]);
    }
    if servers.is_empty() {
        table.add_row([
            "missing",
            "redis-server",
            "replays need one; `check` works without: run scripts/setup.sh",
        ]);
    }
    match &shim {
        Ok(path) => table.add_row([
            "ok".into(),
            "clock library".into(),
            path.display().to_string(),
        ]),
        Err(_) => table.add_row([
            "missing",
            "clock library",
            "replays need it; `check` works without: run `cargo build --workspace`",
        ]),
    };
    match &toxiproxy {
        Ok(path) => table.add_row(["ok".into(), "toxiproxy".into(), path.display().to_string()]),
        Err(_) => table.add_row([
            "missing",
            "toxiproxy",
            "only `--proxy toxiproxy` needs it: run scripts/setup.sh where there is Go",
        ]),
    };
    screen::print(table)?;
    let works = !servers.is_empty() && shim.is_ok();
    Ok(if works { Exit::Fine } else { Exit::Violation })
}
