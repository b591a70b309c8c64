//! `--attach`: servers and a toxiproxy that are there already.

use std::path::Path;

use anyhow::Context;
use lockproof_campaign::shell;
use lockproof_lab::topology::Attachment;

use super::{Failure, run, signals};

/// Options of every subcommand that can run on servers of somebody else.
#[derive(clap::Args, Debug, Clone)]
pub struct AttachArgs {
    /// Run on these servers, which are there already: redis://HOST:PORT, separated by
    /// commas, or an attachment file (docs/compose.md). They must be made for tests:
    /// empty, and nobody's who is not given
    #[arg(long, value_name = "URLS|FILE.toml")]
    attach: Option<String>,
    /// The toxiproxy to put before servers that are given by URLs
    #[arg(
        long,
        value_name = "URL",
        requires = "attach",
        default_value = "http://127.0.0.1:8474"
    )]
    toxiproxy: String,
    /// Put back what a killed run left: remove its proxies and keys, and give the
    /// servers the roles back that it found
    #[arg(long, requires = "attach")]
    take_over: bool,
    /// Attach also servers that hold keys of others, feed replicas of others, or whose
    /// Sentinels watch others. Their keys are not touched; but what they write during a
    /// failover of the run can be lost
    #[arg(long, requires = "attach")]
    shared_servers: bool,
}

impl AttachArgs {
    /// As they stand on a command line that repeats this one.
    pub fn words(&self) -> String {
        let shared = match self.shared_servers {
            true => " --shared-servers",
            false => "",
        };
        match &self.attach {
            None => String::new(),
            Some(file) if file.ends_with(".toml") => {
                format!(" --attach {}{shared}", shell::word(file))
            }
            Some(urls) => format!(
                " --attach {} --toxiproxy {}{shared}",
                shell::word(urls),
                shell::word(&self.toxiproxy)
            ),
        }
    }

    /// What is attached, if anything is.
    pub fn find(&self) -> Result<Option<Attachment>, Failure> {
        let Some(attach) = &self.attach else {
            return Ok(None);
        };
        let read = if attach.ends_with(".toml") {
            Attachment::parse(&run::read(Path::new(attach))?)
        } else {
            Attachment::from_urls(attach, &self.toxiproxy)
        };
        let attachment = read
            .with_context(|| format!("failed to understand what to attach ({attach})"))
            .map_err(Failure::usage)?;
        signals::have_attached();
        Ok(Some(Attachment {
            take_over: self.take_over,
            shared: self.shared_servers,
            ..attachment
        }))
    }
}
