//! Connections that watch keys, written from docs/model.md.
//!
//! Each thread of a client has a connection to each server, and a new one whenever it has given
//! up a command on the old one. Connections have numbers here, and a server forgets one when its
//! client has left it and nothing is on its way on it. What a library knows is kept beside:
//! whether the connection that it uses is one on which it has watched something.

use std::collections::BTreeMap;

use lockproof_model::lock::Request;
use lockproof_redis::{Bytes, Multi, Reply, ScriptEngine, Server};

use crate::step::Step;
use crate::world::{Message, Setup, State, Store};

/// Numbers of connections of one client.
const OF_CLIENT: u32 = 1000;
/// Numbers of connections of one thread.
const OF_THREAD: u32 = 100;

/// A thread's connection to a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Link {
    /// Which of those that it has had.
    pub generation: u32,
    /// Its library has watched something on it.
    pub watches: bool,
}

/// All connections of a client.
#[derive(Clone, Debug, Default)]
pub struct Links {
    pub open: BTreeMap<(u8, usize), Link>,
    /// The node that each thread asked last.
    asked: BTreeMap<u8, usize>,
}

/// The lock has transactions.
pub fn are_sent(setup: &Setup) -> bool {
    setup.file.text.contains("multi") || setup.file.text.contains("WATCH")
}

fn number(client: usize, thread: u8, generation: u32) -> u32 {
    (client as u32 + 1) * OF_CLIENT + u32::from(thread) * OF_THREAD + generation
}

/// The connection on which a request is.
pub fn connection(message: &Message) -> u32 {
    number(message.client, message.thread, message.generation)
}

/// A server executes a command, or a transaction one command after the other.
pub fn execute(
    server: &mut Server,
    engine: &mut ScriptEngine,
    connection: u32,
    argv: &[Bytes],
) -> Reply {
    match Multi::of(argv) {
        None => server.execute(engine, connection, argv),
        Some(multi) => {
            let replies = multi.requests().into_iter();
            let replies = replies.map(|request| server.execute(engine, connection, &request));
            replies.last().unwrap_or(Reply::Nil)
        }
    }
}

/// A command is about to be sent: the generation of its connection, what it asks of the watch,
/// and whether the library does not send it.
pub fn sends(step: &mut Step<'_>, client: usize, request: &Request) -> (u32, Option<bool>, bool) {
    if !are_sent(step.setup) {
        return (0, None, false);
    }
    let is = |word: &str| request.argv[0].eq_ignore_ascii_case(word.as_bytes());
    let asks = is("watch")
        .then_some(true)
        .or(is("unwatch").then_some(false));
    let one = step.state.client_mut(client);
    let node = usize::from(request.node);
    one.links.asked.insert(request.thread, node);
    let link = one.links.open.entry((request.thread, node)).or_default();
    let multi = Multi::of(&request.argv);
    let withheld = multi
        .as_ref()
        .is_some_and(|multi| multi.guarded && !link.watches);
    if multi.is_some() {
        link.watches = false;
    }
    let generation = link.generation;
    one.seal();
    (generation, asks, withheld)
}

/// A reply comes to a client.
pub fn arrives(step: &mut Step<'_>, message: &Message, reply: &Reply) {
    if let Some(watches) = message.asks
        && !matches!(reply, Reply::Error(_))
    {
        let one = step.state.client_mut(message.client);
        let link = one.links.open.entry((message.thread, message.node));
        link.or_default().watches = watches;
        one.seal();
    }
}

/// A thread has given up what it asked for last.
pub fn gives_up(step: &mut Step<'_>, client: usize, thread: u8) {
    if let Some(node) = step.state.clients[client].links.asked.get(&thread).copied() {
        leave(step, client, thread, node);
    }
}

/// A client's process is gone.
pub fn dies(step: &mut Step<'_>, client: usize) {
    for node in 0..step.setup.nodes() {
        for thread in 0..4 {
            leave(step, client, thread, node);
        }
    }
}

/// The next command of a thread to a node goes on another connection.
fn leave(step: &mut Step<'_>, client: usize, thread: u8, node: usize) {
    if !are_sent(step.setup) {
        return;
    }
    let used = |generation: u32| {
        let here = |m: &&Message| (m.client, m.thread, m.node) == (client, thread, node);
        let mut messages = step.state.messages.iter().filter(here);
        messages.any(|m| m.generation == generation && m.is_request())
    };
    let generation = (0..).find(|generation| !used(*generation)).unwrap_or(0);
    let one = std::sync::Arc::make_mut(&mut step.state.nodes[node]);
    one.store
        .server
        .disconnect(number(client, thread, generation));
    one.seal();
    let one = step.state.client_mut(client);
    let watches = false;
    let link = Link {
        generation,
        watches,
    };
    one.links.open.insert((thread, node), link);
    one.seal();
}

/// A server's connections have all ended.
pub fn ended(state: &mut State, node: usize) {
    for client in 0..state.clients.len() {
        let one = state.client_mut(client);
        for ((_, of), link) in &mut one.links.open {
            link.watches &= *of != node;
        }
        one.seal();
    }
    let one = std::sync::Arc::make_mut(&mut state.nodes[node]);
    close_all(&mut one.store);
    one.seal();
}

/// Nobody watches anything there.
pub fn close_all(store: &mut Store) {
    let all: Vec<u32> = store.server.watches().map(|(number, _)| number).collect();
    all.into_iter().for_each(|one| store.server.disconnect(one));
}

/// All keys of a server are deleted: who watches one of them notices it.
pub fn flushed(before: &Server, after: &mut Server) {
    for (connection, watched) in before.watches() {
        let mut watched = watched.clone();
        before.entries().for_each(|(key, ..)| watched.touch(key));
        after.insert_watch(connection, watched);
    }
}

/// A server forgets connections that their clients have left, and on which nothing comes.
pub fn sweep(step: &mut Step<'_>) {
    if !are_sent(step.setup) {
        return;
    }
    for node in 0..step.setup.nodes() {
        let state = &step.state;
        let lives = |connection: u32| {
            let client = (connection / OF_CLIENT - 1) as usize;
            let thread = (connection % OF_CLIENT / OF_THREAD) as u8;
            let one = &state.clients[client];
            let generation = one
                .links
                .open
                .get(&(thread, node))
                .map(|link| link.generation);
            let used = generation == Some(connection % OF_THREAD) && !one.ghost.crashed;
            let here = |m: &Message| m.node == node && m.is_request();
            used || (state.messages.iter()).any(|m| here(m) && self::connection(m) == connection)
        };
        let watches = state.nodes[node].store.server.watches();
        let left = watches
            .map(|(connection, _)| connection)
            .filter(|one| !lives(*one));
        let left: Vec<u32> = left.collect();
        if !left.is_empty() {
            let one = std::sync::Arc::make_mut(&mut step.state.nodes[node]);
            left.into_iter()
                .for_each(|gone| one.store.server.disconnect(gone));
            one.seal();
        }
    }
}
