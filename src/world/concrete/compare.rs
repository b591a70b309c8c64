//! Canonical forms of what is concrete, and the comparison with the tables.

use super::{ConcreteError, Run, mismatch};
use crate::redis::{Bytes, Reply};
use crate::trace;
use crate::world::layout::State;
use crate::world::moves::Move;
use crate::world::node::Keyspace;
use crate::world::symbols::{self, PRESENT};

impl<'w, const W: usize> Run<'w, W> {
    pub(super) fn name(&self, text: &[u8]) -> Vec<u8> {
        let mut names: Vec<(Vec<u8>, String)> = Vec::new();
        for (client, state) in self.clients.iter().enumerate() {
            let client = client as u8;
            for (token, generation) in &state.tokens {
                names.push((
                    token.clone().into_bytes(),
                    symbols::token(client, *generation),
                ));
            }
            names.push((
                trace::owner_name(client).into_bytes(),
                symbols::owner(client),
            ));
        }
        replace(text, &names)
    }

    pub(super) fn canonical(&self, text: &[u8]) -> Vec<u8> {
        symbols::map_times(&self.name(text), self.now(), |distance| {
            PRESENT + symbols::clamp(distance, self.horizon_ms)
        })
    }

    pub(super) fn canonical_reply(&self, reply: &Reply) -> Reply {
        symbols::map_reply(reply, &mut |text| self.canonical(text))
    }

    /// The client's own canonical form of a text.
    fn canonical_local(&self, client: u8, text: &[u8]) -> Vec<u8> {
        let clock =
            self.now() + self.clients[usize::from(client)].offset_ms - self.paused_ms(client);
        let timed = symbols::map_times(&self.name(text), clock, |distance| {
            PRESENT + symbols::clamp(distance, self.horizon_ms)
        });
        symbols::to_local(&timed, client, 0, self.horizon_ms)
    }

    pub(super) fn paused_ms(&self, client: u8) -> i64 {
        let ticks = self.clients[usize::from(client)].paused.unwrap_or(0);
        i64::from(ticks) * self.tick_ms
    }

    pub(super) fn family(&self, client: u8, argv: &[Bytes]) -> Option<u16> {
        let masked: Vec<Bytes> = argv
            .iter()
            .map(|word| symbols::mask_times(&self.canonical_local(client, word)))
            .collect();
        self.world.tables.closure.families.find(&masked)
    }

    /// Every live client and every node is where the path says.
    pub(super) fn compare(
        &self,
        at: usize,
        step: Move,
        after: &State<W>,
    ) -> Result<(), ConcreteError> {
        for client in 0..self.world.config.clients {
            self.compare_client(at, step, after, client)?;
        }
        for (node, keyspace) in self.nodes.iter().enumerate() {
            let canonical = keyspace.renamed(&|text| self.canonical(text));
            let claimed = self
                .world
                .tables
                .closure
                .keyspaces
                .get(self.world.keyspace(after, node));
            if !canonical.same_content(claimed) {
                let detail = format!("node {node} holds {canonical:?}, not {claimed:?}");
                return Err(mismatch(at, step, detail));
            }
            self.compare_replica(at, step, after, node)?;
            self.compare_old(at, step, after, node)?;
            self.compare_silence(at, step, after, node)?;
        }
        Ok(())
    }

    /// What a node's replica may hold is what the path says.
    fn compare_replica(
        &self,
        at: usize,
        step: Move,
        after: &State<W>,
        node: usize,
    ) -> Result<(), ConcreteError> {
        let keyspaces = &self.world.tables.closure.keyspaces;
        let behind = self.world.behind(after, node);
        let claimed: Vec<&Keyspace> = behind.iter().map(|id| keyspaces.get(*id)).collect();
        let history = self.replicas[node].history.iter();
        let held: Vec<Keyspace> = history
            .map(|keyspace| keyspace.renamed(&|text| self.canonical(text)))
            .collect();
        let same = |(held, claimed): (&Keyspace, &&Keyspace)| held.same_content(claimed);
        if held.len() == claimed.len() && held.iter().zip(&claimed).all(same) {
            return Ok(());
        }
        let detail = format!("the replica of node {node} may hold {held:?}, not {claimed:?}");
        Err(mismatch(at, step, detail))
    }

    /// A node's old server, if it has one, holds what the path says.
    fn compare_old(
        &self,
        at: usize,
        step: Move,
        after: &State<W>,
        node: usize,
    ) -> Result<(), ConcreteError> {
        let keyspaces = &self.world.tables.closure.keyspaces;
        let claimed = self.world.old(after, node).map(|id| keyspaces.get(id));
        let old = self.split.get(&(node as u8));
        let held = old.map(|(keyspace, _)| keyspace.renamed(&|text| self.canonical(text)));
        let same = match (&held, claimed) {
            (Some(held), Some(claimed)) => held.same_content(claimed),
            (held, claimed) => held.is_none() && claimed.is_none(),
        };
        if same {
            return Ok(());
        }
        let detail = format!("the old server of node {node} holds {held:?}, not {claimed:?}");
        Err(mismatch(at, step, detail))
    }

    fn compare_client(
        &self,
        at: usize,
        step: Move,
        after: &State<W>,
        client: u8,
    ) -> Result<(), ConcreteError> {
        let state = &self.clients[usize::from(client)];
        if state.crashed {
            return Ok(());
        }
        let key = state
            .program
            .key(&|text| self.canonical_local(client, text))?;
        let local = self.world.tables.closure.find_local(key, state.awaiting);
        let class = local.map(|id| self.world.tables.class_of[id as usize]);
        let claimed = self.world.class(after, usize::from(client));
        if class == Some(claimed) {
            return Ok(());
        }
        let view = state.program.view();
        let detail = format!("client {client} is in {class:?} with {view:?}, not in {claimed}");
        Err(mismatch(at, step, detail))
    }
}

/// Replaces every occurrence of the first matching name.
pub(super) fn replace(text: &[u8], names: &[(Vec<u8>, String)]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut i = 0;
    while i < text.len() {
        match names.iter().find(|(name, _)| text[i..].starts_with(name)) {
            Some((name, symbol)) => {
                out.extend_from_slice(symbol.as_bytes());
                i += name.len();
            }
            None => {
                out.push(text[i]);
                i += 1;
            }
        }
    }
    out
}
