//! What time, faults, renaming and translation make of keyspaces and messages, by their
//! numbers. The closure has computed each; a number that it lacks is [`NONE`].

use lockproof_redis::Reply;

use super::NONE;
use crate::world::closure::{Closure, Command, Needs, given_up, retired};
use crate::world::node::{Holders, Keyspace};
use crate::world::symbols;
use crate::world::watches::{Unwatch, Watchers};

/// What time and faults make of keyspaces.
pub(super) struct Moves {
    pub tick: Vec<u16>,
    pub jump: [Vec<u16>; 2],
    pub retire: Vec<u16>,
    pub renumbered: Vec<u16>,
    pub holders: Vec<Holders>,
    pub blurred: Vec<bool>,
    pub flushed: Vec<u16>,
    pub stored: Vec<u16>,
    pub unwatched: Vec<u16>,
    pub watchers: Vec<Watchers>,
}

impl Moves {
    pub fn lay_out(closure: &Closure) -> Moves {
        let Needs {
            ttl_ms,
            step_ms,
            clients,
            jump,
            ..
        } = closure.needs;
        let ids = 0..closure.keyspaces.len() as u16;
        let map = |f: &dyn Fn(&Keyspace) -> Keyspace| -> Vec<u16> {
            ids.clone().map(|id| keyspace_id(closure, id, f)).collect()
        };
        let mut retire = Vec::new();
        for client in 0..clients {
            for renaming in closure.renamings() {
                retire.extend(ids.clone().map(|id| {
                    match closure.wants_retirement(usize::from(id), client, &renaming) {
                        true => keyspace_id(closure, id, |k| k.retire(client, &renaming)),
                        false => NONE,
                    }
                }));
            }
        }
        let mut renumbered = Vec::new();
        if closure.needs.losing {
            for how in closure.needs.renumberings() {
                renumbered.extend(map(&|k| k.renumbered(how)));
            }
        }
        let jumped = |direction: usize| {
            if jump == 0 {
                Vec::new()
            } else {
                map(&|k| {
                    let [forward, back] = closure.jumps(k);
                    if direction == 0 { forward } else { back }
                })
            }
        };
        let watches = !closure.guards().is_empty();
        let mut unwatched = Vec::new();
        if watches {
            for client in 0..clients {
                for what in Unwatch::ALL {
                    unwatched.extend(map(&|k| k.unwatched(client, what)));
                }
            }
        }
        let knows = !closure.rules.by_sha.is_empty() || watches;
        let known = |f: &dyn Fn(&Keyspace) -> Keyspace| if knows { map(f) } else { Vec::new() };
        let keyspaces = closure.keyspaces.items().iter();
        Moves {
            flushed: known(&|k| k.flushed()),
            stored: known(&|k| k.stored()),
            unwatched,
            watchers: match watches {
                true => keyspaces.clone().map(Keyspace::watchers).collect(),
                false => Vec::new(),
            },
            tick: map(&|k| closure.aged_keyspace(k)),
            jump: [jumped(0), jumped(1)],
            retire,
            renumbered,
            holders: keyspaces
                .clone()
                .map(|k| k.holders(ttl_ms, step_ms, &closure.rules))
                .collect(),
            blurred: keyspaces
                .map(|k| k.is_crowded() || closure.aged_keyspace(k).has_lost_elements(k))
                .collect(),
        }
    }
}

/// The number of what `f` makes of a keyspace; the closure has seen it.
pub(super) fn keyspace_id(closure: &Closure, id: u16, f: impl Fn(&Keyspace) -> Keyspace) -> u16 {
    let after = f(closure.keyspaces.get(id));
    closure.keyspaces.find(&after).unwrap_or(NONE)
}

/// What time, retirement and translation make of messages.
pub(super) struct Messages {
    pub server_command: Vec<u16>,
    pub local_reply: Vec<u16>,
    pub age_command: Vec<u16>,
    pub age_reply: Vec<u16>,
    pub retire_command: Vec<u16>,
    pub retire_reply: Vec<u16>,
    pub renumbered: Vec<u16>,
    pub generations: Vec<u8>,
    pub partner_generations: Vec<u8>,
    pub given_up: Vec<[u16; 2]>,
}

impl Messages {
    pub fn lay_out(closure: &Closure) -> Messages {
        let mut messages = Messages {
            server_command: Vec::new(),
            local_reply: Vec::new(),
            age_command: Vec::new(),
            age_reply: Vec::new(),
            retire_command: Vec::new(),
            retire_reply: Vec::new(),
            renumbered: Vec::new(),
            generations: Vec::new(),
            partner_generations: Vec::new(),
            given_up: Vec::new(),
        };
        messages.translate(closure);
        messages.give_up(closure);
        messages.age(closure);
        messages.retire(closure);
        messages.renumber(closure);
        messages
    }

    fn renumber(&mut self, closure: &Closure) {
        if !closure.rules.keys.has_fences() {
            return;
        }
        for how in closure.needs.renumberings() {
            let replies = closure.replies.items().iter();
            self.renumbered
                .extend(replies.map(|reply| find_reply(closure, &how.reply(reply))));
        }
    }

    fn translate(&mut self, closure: &Closure) {
        for client in 0..closure.needs.clients {
            for index in 0..closure.needs.skews.len() {
                for id in 0..closure.local_commands.len() as u16 {
                    let local = closure.local_commands.get(id);
                    if !closure.sends(client, local) {
                        self.server_command.push(NONE);
                        continue;
                    }
                    let argv = closure.to_server(&local.argv, client, index);
                    let family = closure.family(id);
                    let command = Command {
                        client,
                        sender: local.sender,
                        connection: local.connection,
                        family,
                        argv,
                    };
                    self.server_command.push(find_command(closure, &command));
                }
                for reply in closure.replies.items() {
                    let local = closure.local_reply(reply, client, index);
                    self.local_reply
                        .push(closure.local_replies.find(&local).unwrap_or(NONE));
                }
            }
        }
    }

    fn give_up(&mut self, closure: &Closure) {
        if closure.guards().is_empty() {
            return;
        }
        let commands = closure.commands.items().iter();
        let numbers = |command: &Command| given_up(command).map(|one| find_command(closure, &one));
        self.given_up.extend(commands.map(numbers));
    }

    fn age(&mut self, closure: &Closure) {
        for command in closure.commands.items() {
            let aged = Command {
                argv: command.argv.iter().map(|word| closure.aged(word)).collect(),
                ..*command
            };
            self.age_command.push(find_command(closure, &aged));
            let named = |client| {
                let words = command.argv.iter();
                words.fold(0, |set, word| set | symbols::generations(word, client))
            };
            self.generations.push(named(command.client));
            if closure.needs.shared_handle {
                let partner = closure.needs.people().partner(command.client);
                self.partner_generations.push(partner.map_or(0, named));
            }
        }
        for reply in closure.replies.items() {
            self.age_reply
                .push(find_reply(closure, &closure.aged_reply(reply)));
        }
    }

    fn retire(&mut self, closure: &Closure) {
        for client in 0..closure.needs.clients {
            for renaming in closure.renamings() {
                for command in closure.commands.items() {
                    let renamed = Command {
                        argv: retired(&command.argv, client, &renaming),
                        ..*command
                    };
                    self.retire_command.push(find_command(closure, &renamed));
                }
                for reply in closure.replies.items() {
                    let retired = closure.retired_reply(reply, client, &renaming);
                    self.retire_reply.push(find_reply(closure, &retired));
                }
            }
        }
    }
}

fn find_command(closure: &Closure, command: &Command) -> u16 {
    closure.commands.find(command).unwrap_or(NONE)
}

pub(super) fn find_reply(closure: &Closure, reply: &Reply) -> u16 {
    closure.replies.find(reply).unwrap_or(NONE)
}
