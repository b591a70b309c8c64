//! Messages to those who listen, written from docs/model.md.
//!
//! Each is a message of its own here, and they stand in the order in which their server
//! sent them.

use std::sync::Arc;

use lockproof_model::lock::{Phase, View, Waiting};
use lockproof_model::world::catalogue::Safety;
use lockproof_redis::{Bytes, Server};

use crate::step::Step;
use crate::world::{Cargo, Ear, Message, State};

/// A subscribed connection is another one than those of commands.
const OF_ITS_OWN: u32 = 100;

/// The command is about a subscription.
pub fn subscribes(argv: &[Bytes]) -> bool {
    let name = argv.first().map_or(&[][..], Vec::as_slice);
    let words = [&b"subscribe"[..], b"unsubscribe"];
    words.iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// The connection on which a client sends this.
pub fn connection(client: usize, argv: &[Bytes]) -> u32 {
    let own = if subscribes(argv) { OF_ITS_OWN } else { 0 };
    client as u32 + own
}

/// The server learns who listens.
pub fn tune_in(step: &Step<'_>, node: usize, server: &mut Server) {
    let nodes = step.setup.nodes();
    for client in 0..step.setup.clients {
        if let Ear::Hears(channel) | Ear::Deaf(channel) = &step.state.ears[client * nodes + node] {
            server.subscribe(client as u32 + OF_ITS_OWN, channel.clone());
        }
    }
}

/// What became of the subscriptions, and what was published, is taken from the server.
pub fn tune_out(step: &mut Step<'_>, node: usize, server: &mut Server) {
    let nodes = step.setup.nodes();
    for client in 0..step.setup.clients {
        let connection = client as u32 + OF_ITS_OWN;
        let channel = server.channels_of(connection).into_iter().next();
        let ear = &mut step.state.ears[client * nodes + node];
        *ear = match (channel, &*ear) {
            (None, _) => Ear::Nothing,
            (Some(channel), Ear::Deaf(_)) => Ear::Deaf(channel),
            (Some(channel), _) => Ear::Hears(channel),
        };
    }
    let published = server.take_messages();
    for client in 0..step.setup.clients {
        server.disconnect(client as u32 + OF_ITS_OWN);
    }
    for one in published {
        let client = (one.connection - OF_ITS_OWN) as usize;
        send(step, client, node, (one.channel, one.payload));
    }
}

fn send(step: &mut Step<'_>, client: usize, node: usize, said: (Bytes, Bytes)) {
    let link = client * step.setup.nodes() + node;
    let Ear::Hears(channel) = step.state.ears[link].clone() else {
        return;
    };
    if step.state.cut[link].swallows(false) {
        step.state.ears[link] = Ear::Deaf(channel);
        forget(&mut step.state, client, node);
        return;
    }
    let id = step.state.next_id;
    step.state.next_id += 1;
    step.published.push(id);
    step.state.messages.push(Message {
        generation: 0,
        asks: None,
        withheld: false,
        id,
        client,
        thread: 0,
        node,
        awaited: false,
        allowance: 0,
        held: false,
        gives: false,
        reads: false,
        leaves: false,
        listens: true,
        holders: false,
        cargo: Arc::new(Cargo::Published(said)),
    });
}

/// It comes behind another one on the same subscription.
pub fn is_behind(state: &State, message: &Message) -> bool {
    let same = |other: &&Message| {
        (other.client, other.node) == (message.client, message.node) && other.comes()
    };
    let first = state.messages.iter().find(same);
    message.comes() && first.is_some_and(|first| first.id != message.id)
}

/// Nothing that a server sent on this subscription arrives any more.
pub fn forget(state: &mut State, client: usize, node: usize) {
    let here = |m: &Message| (m.client, m.node) == (client, node) && m.comes();
    state.messages.retain(|m| !here(m));
}

/// A message on a subscription was lost on its way.
pub fn lost(step: &mut Step<'_>, message: &Message) {
    if !message.comes() {
        return;
    }
    let ear = message.client * step.setup.nodes() + message.node;
    let ear = &mut step.state.ears[ear];
    *ear = match (&*message.cargo, &*ear) {
        // Its connection ends.
        (Cargo::Published(_), _) => Ear::Nothing,
        (_, Ear::Hears(channel)) => Ear::Deaf(channel.clone()),
        (_, other) => other.clone(),
    };
    forget(&mut step.state, message.client, message.node);
}

/// A published message can be lost only while no command is under way on its connection.
pub fn can_be_lost(state: &State, message: &Message) -> bool {
    let published = matches!(*message.cargo, Cargo::Published(_));
    !published || !state.clients[message.client].asks(message.node)
}

/// What a cut link swallows of subscriptions.
pub fn swallowed(step: &mut Step<'_>) {
    let nodes = step.setup.nodes();
    for link in 0..step.state.cut.len() {
        let (client, node) = (link / nodes, link % nodes);
        let here = |m: &Message| (m.client, m.node) == (client, node) && m.comes();
        if step.state.cut[link].swallows(false) && step.state.messages.iter().any(here) {
            if let Ear::Hears(channel) = step.state.ears[link].clone() {
                step.state.ears[link] = Ear::Deaf(channel);
            }
            forget(&mut step.state, client, node);
        }
    }
}

/// The link is whole again: a connection with a gap is reset.
pub fn healed(step: &mut Step<'_>, client: usize, node: usize) {
    let link = client * step.setup.nodes() + node;
    let asks = step.state.clients[client].asks(node);
    if matches!(step.state.ears[link], Ear::Deaf(_)) && !asks {
        step.state.ears[link] = Ear::Nothing;
    }
}

/// The client gave up a command about a subscription, and closes its connection.
pub fn hang_up(state: &mut State, nodes: usize, client: usize, node: usize) {
    state.ears[client * nodes + node] = Ear::Nothing;
    let here = |m: &Message| (m.client, m.node) == (client, node) && m.listens;
    state.messages.retain(|m| !here(m));
}

/// Nobody sleeps on while the lock is free and nothing comes that wakes them.
pub fn judge(step: &mut Step<'_>) {
    let setup = step.setup;
    if !step.state.freed || !setup.file.listens || setup.nodes() > 1 {
        return;
    }
    let asleep = |client: usize| {
        let one = &step.state.clients[client];
        let view = one.program.view();
        let told = |m: &Message| m.client == client && matches!(*m.cargo, Cargo::Published(_));
        let waits = view.phase == Phase::Acquiring && waits(&view);
        one.runs() && waits && !step.state.messages.iter().any(told)
    };
    if !is_held(step) && (0..setup.clients).any(asleep) {
        step.violate(Safety::NoLostWakeUp);
    }
}

fn waits(view: &View) -> bool {
    let mut threads = view.threads.iter();
    threads.any(|(thread, waiting)| *thread == 0 && matches!(waiting, Waiting::Message { .. }))
}

/// Somebody's lock is on the first node.
pub fn is_held(step: &Step<'_>) -> bool {
    let (setup, store) = (step.setup, &step.state.nodes[0].store);
    let has = |client: usize| {
        let ttl_ms = setup.config.ttl_ms;
        store.owners.has(&store.server, client, &setup.file, ttl_ms)
    };
    (0..setup.clients).any(|client| has(client).locked)
}
