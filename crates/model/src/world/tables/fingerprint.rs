//! What a search of a world looks at, as one number.
//!
//! A search reads tables and a configuration, and nothing else of a lock. So worlds with one fingerprint
//! are one transition system: what is found in the one is true of the other, state by state. Two tables
//! of one behaviour may have two fingerprints, because their states are numbered in the order in which
//! they were found; nothing follows from a difference.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use sha2::{Digest, Sha256};

use super::Tables;
use crate::world::WorldConfig;

/// SHA-256 of a world: what is equal here is equal.
pub type Fingerprint = [u8; 32];

/// Feeds the digest with what types give to any hasher.
struct Feed(Sha256);

impl Hasher for Feed {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Nobody asks: the digest is taken whole.
    fn finish(&self) -> u64 {
        0
    }
}

impl Tables {
    /// The fingerprint of the world of `config` with these tables.
    pub fn fingerprint(&self, config: &WorldConfig) -> Fingerprint {
        // All fields by name: a new one has to be thought of here.
        let Tables {
            needs,
            closure,
            class_of,
            releases,
            representatives: _, // for the words of traces
            facts,
            inputs,
            next,
            output,
            outputs,
            server_command,
            local_reply,
            executions,
            refusals,
            keyspaces,
            tick,
            jump,
            emptied,
            flushed,
            stored,
            holders,
            age_command,
            age_reply,
            retire_keyspace,
            retire_command,
            retire_reply,
            renumbered_keyspace,
            renumbered_reply,
            reply_fences,
            states_fences,
            draws_fences,
            mask_index,
            kept,
            masks,
            generations,
            partner_generations,
            blurred,
            counts_leases,
            spins,
            has_modes,
            opens,
            waits,
            acknowledged,
            pops,
            nothing,
            subscriptions,
            publications,
            hearers,
            guards,
            given_up,
            unwatched,
            watchers,
            holders_own,
            operations,
        } = self;
        let mut feed = Feed(Sha256::new());
        (config, needs, class_of.first(), inputs).hash(&mut feed);
        let kinds: Vec<_> = closure.poisons.iter().map(|poison| poison.kind).collect();
        let durations: Vec<i64> = closure.durations.iter().map(|one| one.ms).collect();
        let counts = [
            closure.commands.len(),
            closure.replies.len(),
            closure.local_commands.len(),
            closure.local_replies.len(),
        ];
        (kinds, durations, counts).hash(&mut feed);
        (releases, facts, next, output, outputs).hash(&mut feed);
        (holders_own, operations).hash(&mut feed);
        (server_command, local_reply, executions, refusals).hash(&mut feed);
        (keyspaces, tick, jump, emptied, holders).hash(&mut feed);
        (flushed, stored).hash(&mut feed);
        (
            age_command,
            age_reply,
            generations,
            partner_generations,
            blurred,
        )
            .hash(&mut feed);
        (retire_keyspace, retire_command, retire_reply).hash(&mut feed);
        if *states_fences || *draws_fences {
            (renumbered_keyspace, renumbered_reply, reply_fences).hash(&mut feed);
        }
        (mask_index, kept, masks, waits, acknowledged).hash(&mut feed);
        if !pops.is_empty() {
            (pops, nothing).hash(&mut feed);
        }
        if !guards.is_empty() {
            (guards, given_up, unwatched, watchers).hash(&mut feed);
        }
        (counts_leases, spins, opens, has_modes).hash(&mut feed);
        let ways: BTreeMap<_, _> = closure.ways.iter().collect();
        let heard: BTreeMap<_, _> = closure.heard.iter().collect();
        (ways, heard, subscriptions, publications, hearers).hash(&mut feed);
        feed.0.finalize().into()
    }
}
