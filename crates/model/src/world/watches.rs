//! Watched keys: WATCH, and the transactions that ask for them.
//!
//! Keys are watched on a connection. The caller's thread of a client has one to each node, and
//! a watch lives as long as it does: until the client gives up what it sent on it or dies, or
//! the server does. A transaction that is on its way when its client gives it up goes on to
//! be one of that connection. So of a client a server can have two watches: that of the present
//! connection, and that of the one before, for as long as its transaction has not arrived.
//! What else was sent on a connection that is gone leaves no watch behind.

use std::collections::BTreeMap;

use lockproof_redis::{Bytes, Multi, Reply, ScriptEngine, Server, Watched};

use super::config::CLIENTS_MAX;

/// Which of its connections to a node a client sends a command on. It makes a difference only
/// to WATCH, UNWATCH and transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Connection {
    /// The one that its caller's thread uses.
    #[default]
    Present,
    /// The one that this used before, and gave up with a transaction on it.
    GivenUp,
    /// Another one, on which nothing is watched.
    Other,
}

/// What becomes of a client's watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unwatch {
    /// The present connection is gone.
    Present,
    /// It is gone, and a transaction on it has not arrived.
    GiveUp,
    /// Of the connection that was given up nothing arrives any more.
    GivenUp,
}

impl Unwatch {
    pub const ALL: [Unwatch; 3] = [Unwatch::Present, Unwatch::GiveUp, Unwatch::GivenUp];
}

/// What the connections to a server watch: by client, and whether it is the one given up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Watches(BTreeMap<(u8, bool), Watched>);

/// Above the numbers of clients: their connections that were given up.
const GIVEN_UP: u32 = CLIENTS_MAX as u32;
/// And the others.
const OTHER: u32 = 2 * GIVEN_UP;

impl Connection {
    /// What a server calls it.
    pub fn number(self, client: u8) -> u32 {
        u32::from(client)
            + match self {
                Connection::Present => 0,
                Connection::GivenUp => GIVEN_UP,
                Connection::Other => OTHER,
            }
    }
}

impl Watches {
    /// What the present connections of clients watch at a server, and those given up.
    pub fn of(server: &Server) -> Watches {
        let watches = server.watches();
        let watches = watches.filter(|(connection, _)| *connection < OTHER);
        let named = |(connection, watched): (u32, &Watched)| {
            let client = (connection % GIVEN_UP) as u8;
            ((client, connection >= GIVEN_UP), watched.clone())
        };
        Watches(watches.map(named).collect())
    }

    pub fn load_into(&self, server: &mut Server) {
        for ((client, given_up), watched) in &self.0 {
            let connection = match given_up {
                true => Connection::GivenUp,
                false => Connection::Present,
            };
            server.insert_watch(connection.number(*client), watched.clone());
        }
    }

    /// This happened to a key.
    pub fn touch(&mut self, key: &[u8]) {
        self.0.values_mut().for_each(|watched| watched.touch(key));
    }

    #[must_use]
    pub fn without(&self, client: u8, what: Unwatch) -> Watches {
        let mut watches = self.0.clone();
        match what {
            Unwatch::Present => drop(watches.remove(&(client, false))),
            Unwatch::GivenUp => drop(watches.remove(&(client, true))),
            Unwatch::GiveUp => {
                if let Some(watched) = watches.remove(&(client, false)) {
                    watches.insert((client, true), watched);
                }
            }
        }
        Watches(watches)
    }

    /// Whether nobody watches anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The clients (bit set) whose present connection watches, and whose given up one does.
    pub fn watchers(&self) -> Watchers {
        let of = |late: bool| {
            let keys = self.0.keys().filter(|(_, given_up)| *given_up == late);
            keys.fold(0, |set, (client, _)| set | 1 << client)
        };
        Watchers {
            present: of(false),
            given_up: of(true),
        }
    }
}

/// Clients (bit sets) that watch something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Watchers {
    pub present: u8,
    pub given_up: u8,
}

/// How a command has to do with watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guard {
    /// It begins or ends a watch.
    Watch,
    /// A transaction; `true` if its client sends it only on a connection that watches.
    Multi(bool),
}

impl Guard {
    /// That of a command line, if it has to do with them.
    pub fn of(argv: &[Bytes]) -> Option<Guard> {
        if let Some(multi) = Multi::of(argv) {
            return Some(Guard::Multi(multi.guarded));
        }
        let name = argv.first()?;
        let words = ["watch", "unwatch"];
        let is_one = words
            .iter()
            .any(|word| name.eq_ignore_ascii_case(word.as_bytes()));
        is_one.then_some(Guard::Watch)
    }

    /// The connection on which a thread sends such a command.
    pub fn connection(argv: &[Bytes], thread: u8) -> Connection {
        match Guard::of(argv) {
            Some(_) if thread != 0 => Connection::Other,
            _ => Connection::Present,
        }
    }

    /// The connection on which it is when its client has given it up; the server has a watch
    /// of that, or has not.
    pub fn given_up(self, watched: bool) -> Connection {
        match self {
            Guard::Multi(_) if watched => Connection::GivenUp,
            Guard::Multi(_) | Guard::Watch => Connection::Other,
        }
    }
}

/// A server executes a command line, which may be a transaction.
pub(super) fn execute(
    server: &mut Server,
    scripts: &mut ScriptEngine,
    connection: u32,
    argv: &[Bytes],
) -> Reply {
    let Some(multi) = Multi::of(argv) else {
        return server.execute(scripts, connection, argv);
    };
    let mut reply = Reply::Nil;
    for request in multi.requests() {
        reply = server.execute(scripts, connection, &request);
    }
    reply
}
