//! A closure by need.
//!
//! The closure pairs any command with any content of a server. Where contents are made
//! of parts (a field for each reader, say), most pairs never meet, and their results are
//! paired again: there are more of them than tables can have. Then only those pairs are
//! closed that the world came to. A search of the world says which pairs it lacks; they
//! are closed as well, and the search begins anew, until it lacks none. What is left out
//! then is what no search came to, so nothing is lost.
//!
//! Rejected: executing while the search runs. Numbers would depend on threads, and with
//! them the order in which states are found.

use rustc_hash::FxHashSet;

use super::{Closure, Command, Execution};
use crate::world::execute::Effect;
use crate::world::interner::Interner;
use crate::world::node::Keyspace;
use crate::world::symbols::Renaming;

/// Poison of an execution that was not closed.
pub const MISSING: u16 = u16::MAX;

/// A pair that a search came to, by the closure's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// A server with this content executes a command, with or without a replica that it
    /// asks for.
    Execution {
        command: u16,
        keyspace: u16,
        alone: bool,
    },
    /// A client's tokens are renamed, by the number of a renaming.
    Retirement {
        keyspace: u16,
        client: usize,
        renaming: usize,
    },
}

/// The pairs to close, as values: numbers are others in each closure.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    commands: Interner<Command>,
    keyspaces: Interner<Keyspace>,
    executions: FxHashSet<(u16, u16, bool)>,
    retirements: FxHashSet<(u16, u8, Renaming)>,
}

impl Wanted {
    /// How many pairs there are.
    pub fn len(&self) -> usize {
        self.executions.len() + self.retirements.len()
    }

    /// True before the first pair.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds what a search lacked in the tables of `closure`; false if that was nothing, or
    /// if there are more different contents than can be numbered.
    pub fn add(&mut self, closure: &Closure, missing: &[Missing]) -> bool {
        let before = self.len();
        let renamings = closure.renamings();
        for one in missing {
            match *one {
                Missing::Execution {
                    command,
                    keyspace,
                    alone,
                } => {
                    let command = self.commands.intern(closure.commands.get(command));
                    let keyspace = self.keyspaces.intern(closure.keyspaces.get(keyspace));
                    if let (Some(command), Some(keyspace)) = (command, keyspace) {
                        self.executions.insert((command, keyspace, alone));
                    }
                }
                Missing::Retirement {
                    keyspace,
                    client,
                    renaming,
                } => {
                    let keyspace = self.keyspaces.intern(closure.keyspaces.get(keyspace));
                    if let Some(keyspace) = keyspace {
                        let pair = (keyspace, client as u8, renamings[renaming]);
                        self.retirements.insert(pair);
                    }
                }
            }
        }
        self.len() > before
    }
}

impl Execution {
    /// What stands for an execution that was not closed.
    pub(super) fn missing(keyspace: usize) -> Execution {
        Execution {
            after: keyspace as u16,
            reply: 0,
            effect: Effect::default(),
            counted: false,
            overflow: false,
            poison: MISSING,
            rounded: false,
            published: 0,
            drew: None,
        }
    }
}

impl Closure {
    /// Only pairs that a search came to are closed.
    pub fn is_by_need(&self) -> bool {
        self.wanted.is_some()
    }

    /// Whether to execute a command on a keyspace, with or without a replica.
    pub(super) fn wants_execution(&self, command: usize, keyspace: usize, alone: bool) -> bool {
        let Some(wanted) = &self.wanted else {
            return true;
        };
        let command = wanted.commands.find(self.commands.get(command as u16));
        let keyspace = self.wanted_keyspaces[keyspace];
        let pair = command.zip(keyspace);
        pair.is_some_and(|(command, keyspace)| {
            wanted.executions.contains(&(command, keyspace, alone))
        })
    }

    /// Whether to rename a client's tokens in a keyspace.
    pub fn wants_retirement(&self, keyspace: usize, client: u8, map: &Renaming) -> bool {
        let Some(wanted) = &self.wanted else {
            return true;
        };
        self.wanted_keyspaces[keyspace]
            .is_some_and(|keyspace| wanted.retirements.contains(&(keyspace, client, *map)))
    }

    /// A keyspace has got the next number.
    pub(super) fn number_wanted(&mut self) {
        let Some(wanted) = &self.wanted else { return };
        let new = &self.keyspaces.items()[self.wanted_keyspaces.len()..];
        let ids = new.iter().map(|keyspace| wanted.keyspaces.find(keyspace));
        self.wanted_keyspaces.extend(ids);
    }
}
