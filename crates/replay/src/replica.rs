//! A node's replica: how it follows, lags and takes over.
//!
//! Its link to the primary runs through a proxy, which knows nothing of the
//! replication protocol: it holds whole directions. So the replica lags by what
//! the primary writes while the link is held, and the gate holds it only when
//! the replica has all that came before; otherwise a write of earlier could be
//! lost as well.
//!
//! Offsets are asked of both servers. Waiting for the replica's own reports to
//! the primary was rejected: they come once a second.

use std::time::Duration;

use lockproof_lab::proxy::embedded::{EmbeddedOptions, EmbeddedProxy, Framing};
use lockproof_lab::proxy::event::LinkId;
use lockproof_lab::proxy::{Cut, Direction, ProxyError};
use lockproof_lab::server::Server;
use lockproof_redis::Reply;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::GateError;
use super::compare::reply_text;

/// The replication link of one node.
pub(super) struct Replica {
    link: EmbeddedProxy,
    /// It follows its primary; otherwise it is one itself.
    follows: bool,
    /// It gets nothing more.
    lags: bool,
    /// The node's second server is its primary now, and the first one was.
    swapped: bool,
    /// Its primary has restarted, and it may not have come back yet.
    interrupted: bool,
    /// Its primary hears nothing of it.
    silent: bool,
    /// Its primary has given it up, and it cannot come back yet.
    gone: bool,
    patience: Duration,
}

/// What a primary and its replica need beside what every server gets. No
/// time-out of replication may strike: clocks stand still and jump here. And
/// the first copy goes by a file: without one, a replica that is faster than its
/// primary's cron gets what follows the copy only after its next report, which
/// comes once a second. An empty replica reads the copy as it comes: a Valkey 9
/// that writes it into a file first looks once a second whether that is done.
pub(super) fn arguments() -> Vec<String> {
    [
        ["--repl-timeout", "1000000000"],
        ["--repl-diskless-sync", "no"],
        ["--repl-diskless-load", "on-empty-db"],
        ["--hz", "100"],
        // For those that ask for a replica to write; see `fall_silent`.
        ["--min-replicas-max-lag", "1000000000"],
    ]
    .concat()
    .iter()
    .map(ToString::to_string)
    .collect()
}

impl Replica {
    /// Puts a proxy before the primary of this node. Nobody follows yet.
    pub async fn start(
        node: u16,
        primary: &Server,
        patience: Duration,
    ) -> Result<Self, ProxyError> {
        let raw = EmbeddedOptions {
            framing: Framing::Raw,
            ..EmbeddedOptions::default()
        };
        // Nothing is reported of bytes without messages.
        let (unheard, _) = mpsc::unbounded_channel();
        let link = LinkId { client: 0, node };
        Ok(Self {
            link: EmbeddedProxy::start(link, primary.address(), raw, unheard).await?,
            follows: false,
            lags: false,
            swapped: false,
            interrupted: false,
            silent: false,
            gone: false,
            patience,
        })
    }

    /// Does it still follow its primary?
    pub fn follows(&self) -> bool {
        self.follows
    }

    /// Is the node's second server its primary?
    pub fn swapped(&self) -> bool {
        self.swapped
    }

    /// For the next trace the first server is the primary again. True if the
    /// servers have to be told.
    pub fn swap_back(&mut self) -> bool {
        let swapped = std::mem::take(&mut self.swapped);
        self.follows &= !swapped;
        swapped
    }

    /// What the replica lagged behind, it gets now, and its primary hears of it
    /// (`known`), or not.
    pub async fn stop_lagging(
        &mut self,
        primary: &Server,
        replica: &Server,
        known: bool,
    ) -> Result<(), GateError> {
        self.lags = false;
        // To come back it has to speak.
        let speaks = !self.silent && (known || self.interrupted);
        self.mute(!speaks).await?;
        self.hold(false).await?;
        self.catch_up(primary, replica).await
    }

    /// Makes `replica` follow `primary`, if it does not, without any lag.
    pub async fn follow(&mut self, primary: &Server, replica: &Server) -> Result<(), GateError> {
        self.silent = false;
        if std::mem::take(&mut self.gone) {
            // It tries again once a second only; so it is told to.
            expect_ok(replica, &["REPLICAOF", "NO", "ONE"]).await?;
            self.follows = false;
        }
        self.lags = false;
        self.hold(false).await?;
        self.mute(false).await?;
        if !self.follows {
            // What is left of the last link must not meet the next one.
            self.link.cut_all(Cut::Rst).await.map_err(wire)?;
            self.link.redirect(primary.address());
            let port = self.link.address().port().to_string();
            expect_ok(replica, &["REPLICAOF", "127.0.0.1", &port]).await?;
            self.follows = true;
        }
        self.interrupted = false;
        self.catch_up(primary, replica).await
    }

    /// Its primary has restarted. The link is cut, for a proxy that holds a
    /// direction does not pass on that the other side closed.
    pub async fn primary_restarted(&mut self) -> Result<(), GateError> {
        self.interrupted = true;
        self.link.cut_all(Cut::Rst).await.map_err(wire)
    }

    /// Waits until the replica has all that it is to have.
    pub async fn settle(&self, primary: &Server, replica: &Server) -> Result<(), GateError> {
        if self.lags || self.gone {
            return Ok(());
        }
        self.catch_up(primary, replica).await
    }

    /// From here on the primary hears nothing of its replica.
    pub async fn fall_silent(&mut self) -> Result<(), GateError> {
        self.silent = true;
        self.mute(true).await
    }

    /// The primary gives its replica up, which has all that it is to have, and
    /// refuses writes from here on.
    pub async fn give_up(&mut self, primary: &Server, replica: &Server) -> Result<(), GateError> {
        self.settle(primary, replica).await?;
        (self.silent, self.gone) = (true, true);
        self.leave_alone(primary).await
    }

    /// Ends the connections to this primary, and lets nothing new through, until
    /// it knows that it has no replica.
    pub async fn leave_alone(&mut self, primary: &Server) -> Result<(), GateError> {
        self.hold(true).await?;
        self.mute(true).await?;
        self.link.cut_all(Cut::Rst).await.map_err(wire)?;
        let deadline = Instant::now() + self.patience;
        loop {
            let info = info(primary).await?;
            if lacks_replicas(&info) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(GateError::StillInTouch {
                    primary: primary.to_string(),
                    waited_ms: self.patience.as_millis() as u64,
                    state: state(&info),
                });
            }
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// The old primary goes on without its replica. It sees their connection
    /// close, if it asks for one, unless it has heard nothing for a while.
    pub async fn leave_old(&mut self, old: &Server, asks: bool) -> Result<(), GateError> {
        match asks && !std::mem::take(&mut self.silent) {
            true => self.leave_alone(old).await,
            false => Ok(()),
        }
    }

    /// From here on the replica gets nothing; what came before it has.
    pub async fn lag(&mut self, primary: &Server, replica: &Server) -> Result<(), GateError> {
        self.catch_up(primary, replica).await?;
        self.lags = true;
        self.hold(true).await
    }

    /// Promotes the replica, with all that it is to have. The primary dies
    /// before that, or goes on.
    pub async fn take_over(
        &mut self,
        primary: &mut Server,
        replica: &Server,
        primary_dies: bool,
    ) -> Result<(), GateError> {
        self.settle(primary, replica).await?;
        if primary_dies {
            primary.kill()?;
        } else if self.silent {
            // A proxy that holds both ways does not tell that one side left.
            self.hold(true).await?;
        }
        self.gone = false;
        expect_ok(replica, &["REPLICAOF", "NO", "ONE"]).await?;
        self.follows = false;
        self.swapped = !self.swapped;
        Ok(())
    }

    async fn hold(&self, hold: bool) -> Result<(), GateError> {
        let held = self.link.hold(Direction::ToClient, hold).await;
        held.map_err(wire)
    }

    /// The primary hears nothing of its replica, or does again.
    async fn mute(&self, mute: bool) -> Result<(), GateError> {
        let held = self.link.hold(Direction::ToServer, mute).await;
        held.map_err(wire)
    }

    /// Waits until the replica has executed all that the primary has.
    async fn catch_up(&self, primary: &Server, replica: &Server) -> Result<(), GateError> {
        let deadline = Instant::now() + self.patience;
        loop {
            let (of_primary, of_replica) = (info(primary).await?, info(replica).await?);
            if is_in_sync(&of_primary, &of_replica) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(GateError::OutOfSync {
                    replica: replica.to_string(),
                    primary: primary.to_string(),
                    waited_ms: self.patience.as_millis() as u64,
                    state: format!(
                        "{} / {} / {}",
                        state(&of_primary),
                        state(&of_replica),
                        replica.log_tail()
                    ),
                });
            }
            sleep(Duration::from_millis(1)).await;
        }
    }
}

async fn info(server: &Server) -> Result<String, GateError> {
    Ok(match server.command(&["INFO"]).await? {
        Reply::Bulk(text) => String::from_utf8_lossy(&text).into_owned(),
        other => reply_text(&other),
    })
}

/// The connections whose command a server holds back.
pub(super) async fn blocked_clients(server: &Server) -> Result<u64, GateError> {
    let info = info(server).await?;
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("blocked_clients:"));
    Ok(line
        .and_then(|count| count.trim().parse().ok())
        .unwrap_or(0))
}

/// The part of an INFO that tells of replication, on one line.
fn state(info: &str) -> String {
    let part = info
        .split("# ")
        .find(|part| part.starts_with("Replication"));
    part.unwrap_or(info).replace("\r\n", " ")
}

/// The primary is asked first, so a replica that has as much as that has all.
/// A replica that keeps a log writes it anew after each copy, and until that is
/// done a restart would find the old one.
fn is_in_sync(primary: &str, replica: &str) -> bool {
    let field = |info: &str, name: &str| {
        let found = info.lines().find_map(|line| line.strip_prefix(name));
        found.map(|value| value.trim().to_owned())
    };
    let written = field(primary, "master_repl_offset:");
    let online = primary.contains("state=online");
    let up = field(replica, "master_link_status:").as_deref() == Some("up");
    let settled = !["in_progress", "scheduled"]
        .iter()
        .any(|rewrite| replica.contains(&format!("aof_rewrite_{rewrite}:1")));
    settled
        && online
        && up
        && !lacks_replicas(primary)
        && written.is_some()
        && written == field(replica, "slave_repl_offset:")
}

/// Of an INFO: the server asks for a replica to write, and has none.
fn lacks_replicas(info: &str) -> bool {
    info.contains("min_slaves_good_slaves:0")
}

/// Sends an order of the harness that must not be refused.
pub(super) async fn expect_ok(server: &Server, command: &[&str]) -> Result<(), GateError> {
    match server.command(command).await? {
        Reply::Status(_) | Reply::Int(_) => Ok(()),
        reply => Err(GateError::Refused {
            server: server.to_string(),
            command: command.join(" "),
            reply: reply_text(&reply),
        }),
    }
}

fn wire(error: ProxyError) -> GateError {
    GateError::Wire(error.into())
}

#[cfg(test)]
mod tests {
    use super::is_in_sync;

    #[test]
    fn in_sync_is_up_online_and_at_the_same_offset() {
        let primary =
            "role:master\r\nslave0:ip=127.0.0.1,state=online\r\nmaster_repl_offset:42\r\n";
        let replica = "role:slave\r\nmaster_link_status:up\r\nslave_repl_offset:42\r\n";
        assert!(is_in_sync(primary, replica));
        assert!(!is_in_sync(primary, &replica.replace("42", "41")));
        assert!(!is_in_sync(primary, &replica.replace(":up", ":down")));
        assert!(!is_in_sync(
            &primary.replace("online", "wait_bgsave"),
            replica
        ));
        assert!(!is_in_sync(
            primary,
            &format!("{replica}aof_rewrite_in_progress:1\r\n")
        ));
        assert!(!is_in_sync("", ""));
    }
}
