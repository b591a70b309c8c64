//! What the real side needs from this machine: servers, clock library, proxies.

use std::path::PathBuf;

use anyhow::anyhow;
use lockproof_lab::binaries::{self, Binary};
use lockproof_lab::clock::Library;
use lockproof_lab::proxy::ProxyKind;
use lockproof_lab::proxy::toxiproxy;
use lockproof_lab::stoppable::unless;
use lockproof_replay::GateOptions;

use super::{Failure, machine, signals};

/// Threads of the runtime.
const WORKERS: usize = 2;

/// What stands between clients and servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Proxy {
    /// lockproof's own proxy alone
    Embedded,
    /// A real toxiproxy-server behind it
    Toxiproxy,
}

/// Options of every subcommand that replays.
#[derive(clap::Args, Debug, Clone)]
pub struct RealArgs {
    /// The server program [default: the first that `lockproof doctor` shows]
    #[arg(long, value_name = "PROGRAM")]
    server: Option<PathBuf>,
    /// What stands between clients and servers
    #[arg(long, value_enum, default_value_t = Proxy::Embedded)]
    proxy: Proxy,
}

/// The real side, found and ready to start.
pub struct Real {
    pub server: Binary,
    pub runtime: tokio::runtime::Runtime,
    pub gate: GateOptions,
}

impl Real {
    /// What work on the real side gives; `None` if a signal came before. Its servers
    /// and clients have ended then.
    pub fn until_told<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.runtime.block_on(unless(&signals::came, work))
    }
}

impl RealArgs {
    /// Finds everything that a replay needs.
    pub fn find(&self) -> Result<Real, Failure> {
        let server = match &self.server {
            Some(path) => binaries::inspect(path).map_err(Failure::usage)?,
            None => binaries::find_default(&binaries::server_directories())
                .map_err(Failure::internal)?,
        };
        let library = Library::built_in().map_err(Failure::internal)?;
        let program = std::env::current_exe().map_err(Failure::internal)?;
        let mut options = GateOptions::new(program, server.clone(), library);
        if self.proxy == Proxy::Toxiproxy {
            let program = toxiproxy::find_program(&binaries::tool_directories())
                .map_err(Failure::internal)?;
            options.proxy = ProxyKind::Toxiproxy(program);
        }
        let runtime = machine::runtime(WORKERS)
            .map_err(|error| Failure::internal(anyhow!("failed to start tokio: {error}")))?;
        Ok(Real {
            server,
            runtime,
            gate: options,
        })
    }
}
