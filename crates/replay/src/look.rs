//! What the gate reads of servers, past every proxy: their keys, what they tell of
//! commands, and the guarded counter, which has a server of its own.

use lockproof_lab::server::admin::Admin;
use lockproof_lab::server::{Server, ServerError, ServerOptions};
use lockproof_redis::Reply;
use tokio::time::timeout;

use super::content::{Content, Notification, READ, content};
use super::monitor::{self, Fields};
use super::rig::Rig;
use super::{GateError, GateOptions};

/// A connection on which a server tells what it does to keys.
pub(super) struct Listener {
    /// The process that it listens to: a new one knows nothing of it.
    pid: u32,
    admin: Admin,
    /// Shows every command.
    monitor: Admin,
}

/// What a server told of what commands did.
#[derive(Default)]
pub(super) struct Told {
    pub notifications: Vec<Notification>,
    /// Fields of hashes that were set, also to what they had been.
    pub fields: Fields,
}

/// Sent on a listener's connection, it ends what the server tells.
const MARK: [&str; 2] = ["PING", "all"];

/// The key of the guarded counter.
pub(super) const COUNTER: &str = "guarded-counter";

/// Without this a server tells nothing.
pub(super) const TELL: [&str; 2] = ["--notify-keyspace-events", "KEA"];

impl Rig {
    /// All keys of a server; nobody is known to have written them. `None` while it
    /// is dead or stands still.
    pub(super) async fn read(&self, at: usize) -> Result<Option<Content>, GateError> {
        let server = &self.fleet.servers[at];
        let Some(clock) = server.clock().filter(|_| self.answers(at)) else {
            return Ok(None);
        };
        let now_ms = clock.now_ms();
        let reply = server.question(&["EVAL", READ, "0"]).await?;
        match content(&reply, now_ms) {
            Some(content) => Ok(Some(content)),
            None => Err(GateError::Refused {
                server: server.to_string(),
                command: "the script that reads all keys".to_string(),
                reply: super::compare::reply_text(&reply),
            }),
        }
    }

    /// The server runs and does not stand still.
    pub(super) fn answers(&self, at: usize) -> bool {
        !self.paused[at] && self.fleet.servers[at].pid().is_some()
    }

    /// What the server told since this was asked last.
    pub(super) async fn heard(&mut self, at: usize) -> Result<Told, GateError> {
        let server = &self.fleet.servers[at];
        let Some(pid) = server.pid().filter(|_| self.answers(at)) else {
            return Ok(Told::default());
        };
        self.listeners
            .resize_with(self.fleet.servers.len(), || None);
        let slot = &mut self.listeners[at];
        let patience = server.options().command_patience;
        let listen = async {
            if slot.as_ref().is_none_or(|listener| listener.pid != pid) {
                let mut admin = Admin::connect(server.address()).await?;
                admin.command(&["PSUBSCRIBE", "__keyevent@*__:*"]).await?;
                let mut monitor = Admin::connect(server.address()).await?;
                monitor.command(&["MONITOR"]).await?;
                *slot = Some(Listener {
                    pid,
                    admin,
                    monitor,
                });
            }
            let mut told = Told::default();
            let Some(Listener { admin, monitor, .. }) = slot else {
                return Ok(told);
            };
            let mut reply = admin.command(&MARK).await?;
            while let Some(notification) = notification(&reply) {
                told.notifications.push(notification);
                reply = admin.next().await?;
            }
            while let Reply::Status(line) = monitor.next().await?
                && !monitor::is_mark(&line, &MARK)
            {
                told.fields.extend(monitor::fields_set(&line));
            }
            Ok(told)
        };
        let told = timeout(patience, listen)
            .await
            .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()));
        told.map_err(|source| {
            GateError::Server(ServerError::Command {
                server: server.to_string(),
                command: "PSUBSCRIBE".to_string(),
                source,
            })
        })
    }

    /// The server that keeps the guarded counter: no trace restarts it.
    pub(super) async fn start_store(&mut self, options: &GateOptions) -> Result<(), GateError> {
        if self.store.is_none() {
            let options = ServerOptions {
                command_patience: options.patience,
                ..ServerOptions::new(options.server.clone())
            };
            self.store = Some(Server::start(&options).await?);
        }
        self.reset_resource().await
    }

    /// The value of the guarded counter.
    pub(super) async fn read_counter(&self) -> Result<i64, GateError> {
        let Some(store) = &self.store else {
            return Ok(0);
        };
        match store.command(&["GET", COUNTER]).await? {
            Reply::Bulk(digits) => {
                let digits = String::from_utf8_lossy(&digits).into_owned();
                digits.parse().map_err(|_| refused(store, "GET", &digits))
            }
            other => Err(refused(store, "GET", &super::compare::reply_text(&other))),
        }
    }
}

pub(super) fn refused(server: &Server, command: &str, reply: &str) -> GateError {
    GateError::Refused {
        server: server.to_string(),
        command: command.to_string(),
        reply: reply.to_string(),
    }
}

/// `pmessage`, pattern, channel, key; the channel ends with what happened.
fn notification(reply: &Reply) -> Option<Notification> {
    let Reply::Array(parts) = reply else {
        return None;
    };
    let [Reply::Bulk(kind), _, Reply::Bulk(channel), Reply::Bulk(key)] = parts.as_slice() else {
        return None;
    };
    if kind != b"pmessage" {
        return None;
    }
    let channel = String::from_utf8_lossy(channel);
    let (_, what) = channel.split_once("__:")?;
    Some(Notification {
        what: what.to_string(),
        key: key.clone(),
    })
}
