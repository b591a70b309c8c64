//! WATCH, MULTI, EXEC, DISCARD and UNWATCH (Redis manual, Transactions).
//!
//! A connection watches keys until its next EXEC, DISCARD or UNWATCH, or its end. Its watch
//! is *dirty* as soon as one of the keys was written, by whomever and whatever it had before,
//! or has expired. EXEC of a dirty watch does nothing and answers nil. A command that is
//! refused while it is queued ends the transaction, whatever the watch says; one that fails
//! when it runs is an element of EXEC's answer. To Valkey MULTI and WATCH within a transaction
//! are such commands; Redis refuses them, and the transaction goes on.

use std::collections::{BTreeMap, BTreeSet};

use super::call::{Answer, Call};
use super::command;
use super::engine::ScriptEngine;
use super::refusal::Refusal;
use super::{Bytes, Reply, Server};

/// What a connection watches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Watched {
    /// The keys; none any more once it is dirty, for nothing makes it clean again.
    pub keys: BTreeSet<Bytes>,
    /// One of them was written, or has expired.
    pub dirty: bool,
}

impl Watched {
    /// This happened to a key.
    pub fn touch(&mut self, key: &[u8]) {
        if self.keys.contains(key) {
            self.keys.clear();
            self.dirty = true;
        }
    }

    /// More keys are watched.
    pub fn add(&mut self, keys: &[Bytes]) {
        if !self.dirty {
            self.keys.extend(keys.iter().cloned());
        }
    }
}

/// The commands of a transaction that has begun.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Queue {
    commands: Vec<Vec<Bytes>>,
    /// One of them writes.
    writes: bool,
    /// One was refused.
    refused: bool,
}

/// The watches and the open transactions of all connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Transactions {
    pub watches: BTreeMap<u32, Watched>,
    queues: BTreeMap<u32, Queue>,
}

impl Transactions {
    /// The connection is closed.
    pub fn disconnect(&mut self, connection: u32) {
        self.watches.remove(&connection);
        self.queues.remove(&connection);
    }

    /// Whether the connection has begun a transaction.
    pub fn has_begun(&self, connection: u32) -> bool {
        self.queues.contains_key(&connection)
    }

    /// This happened to a key.
    pub fn touch(&mut self, key: &[u8]) {
        for watched in self.watches.values_mut() {
            watched.touch(key);
        }
    }

    /// Every key that somebody watches.
    pub fn watched(&self) -> BTreeSet<Bytes> {
        let keys = self.watches.values().flat_map(|watched| &watched.keys);
        keys.cloned().collect()
    }

    /// A command was refused while it was to be queued.
    pub fn refuse(&mut self, connection: u32) {
        if let Some(queue) = self.queues.get_mut(&connection) {
            queue.refused = true;
        }
    }

    /// EXEC itself was refused: its transaction ends, and what its connection watches.
    pub fn abort(&mut self, connection: u32, refusal: &str) -> Reply {
        self.disconnect(connection);
        let why = refusal.strip_prefix("ERR ").unwrap_or(refusal);
        Reply::Error(format!("EXECABORT Transaction discarded because of: {why}"))
    }

    /// A command of an open transaction.
    pub fn queue(&mut self, connection: u32, argv: &[Bytes], writes: bool) -> Reply {
        let queue = self.queues.entry(connection).or_default();
        queue.commands.push(argv.to_vec());
        queue.writes |= writes;
        Reply::Status("QUEUED".to_owned())
    }

    /// EXEC of this connection would write.
    pub fn would_write(&self, connection: u32) -> bool {
        let queue = self.queues.get(&connection);
        queue.is_some_and(|queue| queue.writes)
    }
}

fn ok() -> Answer {
    Ok(Reply::Status("OK".to_owned()))
}

pub(super) fn watch(server: &mut Server, call: &Call<'_>) -> Answer {
    let transactions = server.transactions_mut();
    if transactions.has_begun(call.connection) {
        return Err(Refusal::other("ERR WATCH inside MULTI is not allowed"));
    }
    let watched = transactions.watches.entry(call.connection).or_default();
    watched.add(&call.argv[1..]);
    ok()
}

pub(super) fn unwatch(server: &mut Server, call: &Call<'_>) -> Answer {
    server.transactions_mut().watches.remove(&call.connection);
    ok()
}

pub(super) fn multi(server: &mut Server, call: &Call<'_>) -> Answer {
    let transactions = server.transactions_mut();
    if transactions.has_begun(call.connection) {
        return Err(Refusal::other("ERR MULTI calls can not be nested"));
    }
    let queues = &mut transactions.queues;
    queues.insert(call.connection, Queue::default());
    ok()
}

pub(super) fn discard(server: &mut Server, call: &Call<'_>) -> Answer {
    let transactions = server.transactions_mut();
    if !transactions.has_begun(call.connection) {
        return Err(Refusal::other("ERR DISCARD without MULTI"));
    }
    transactions.disconnect(call.connection);
    ok()
}

pub(super) fn exec(server: &mut Server, scripts: &mut ScriptEngine, call: &Call<'_>) -> Answer {
    let transactions = server.transactions_mut();
    let Some(queue) = transactions.queues.remove(&call.connection) else {
        return Err(Refusal::other("ERR EXEC without MULTI"));
    };
    let watched = transactions.watches.remove(&call.connection);
    if queue.refused {
        return Err(Refusal::other(
            "EXECABORT Transaction discarded because of previous errors.",
        ));
    }
    if watched.is_some_and(|watched| watched.dirty) {
        return Ok(Reply::Nil);
    }
    let commands = queue.commands.iter();
    let replies = commands.map(|argv| command::dispatch(server, scripts, call.connection, argv));
    Ok(Reply::Array(replies.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a server answers to these lines, each of the connection whose number comes first.
    fn told(server: &mut Server, lines: &[(u32, &str)]) -> Vec<Reply> {
        let mut scripts = ScriptEngine::new().unwrap();
        let mut ask = |(connection, line): &(u32, &str)| {
            let argv: Vec<Bytes> = line.split(' ').map(|word| word.into()).collect();
            server.execute(&mut scripts, *connection, &argv)
        };
        lines.iter().map(&mut ask).collect()
    }

    #[test]
    fn a_watch_belongs_to_its_connection() {
        let mut server = Server::new(0);
        let lines = [
            (1, "WATCH a"),
            (2, "WATCH b"),
            (3, "SET a x"),
            (1, "MULTI"),
            (2, "MULTI"),
            (2, "GET a"),
            (1, "EXEC"),
            (2, "EXEC"),
        ];
        let replies = told(&mut server, &lines);
        assert_eq!(replies[6], Reply::Nil);
        assert_eq!(replies[7], Reply::Array(vec![Reply::Bulk(b"x".to_vec())]));
        assert_eq!(server, {
            let mut same = Server::new(0);
            told(&mut same, &[(1, "SET a x")]);
            same
        });
    }

    #[test]
    fn what_a_transaction_writes_is_seen_by_others_and_not_by_its_own_watch() {
        let mut server = Server::new(0);
        let lines = [
            (1, "WATCH a"),
            (2, "WATCH a"),
            (1, "MULTI"),
            (1, "SET a x"),
            (1, "DEL a"),
            (1, "EXEC"),
            (2, "MULTI"),
            (2, "EXEC"),
        ];
        let replies = told(&mut server, &lines);
        assert!(matches!(&replies[5], Reply::Array(all) if all.len() == 2));
        assert_eq!(replies[7], Reply::Nil);
    }

    #[test]
    fn a_closed_connection_watches_nothing_and_has_nothing_queued() {
        let mut server = Server::new(0);
        told(&mut server, &[(1, "WATCH a"), (1, "MULTI"), (1, "SET a x")]);
        server.disconnect(1);
        assert_eq!(server, Server::new(0));
    }

    #[test]
    fn a_key_that_expires_makes_its_watch_dirty() {
        let mut server = Server::new(0);
        told(&mut server, &[(2, "SET a x PX 10"), (1, "WATCH a")]);
        server.advance(11);
        let replies = told(&mut server, &[(1, "MULTI"), (1, "EXEC")]);
        assert_eq!(replies[1], Reply::Nil);
    }

    #[test]
    fn exec_is_refused_where_its_commands_would_be() {
        let mut server = Server::new(0);
        told(&mut server, &[(1, "MULTI"), (1, "SET a x")]);
        server.set_lacks_replicas(true);
        let [reply, without] = told(&mut server, &[(1, "EXEC"), (1, "EXEC")])
            .try_into()
            .unwrap();
        let why = "EXECABORT Transaction discarded because of: NOREPLICAS";
        assert!(matches!(reply, Reply::Error(line) if line.starts_with(why)));
        assert_eq!(without, Reply::Error("ERR EXEC without MULTI".into()));
    }
}
