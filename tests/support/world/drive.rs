//! Drives a world by hand, one move at a time.

use lockproof_model::check::Checker;
use lockproof_model::lock::{LockFile, Op};
use lockproof_model::world::catalogue::{PROPERTIES, Property};
use lockproof_model::world::layout::State;
use lockproof_model::world::message::{Content, Message};
use lockproof_model::world::moves::Move;
use lockproof_model::world::{System, Transition, World};
use lockproof_redis::Reply;

use super::notation::shown;
use super::{options, set, sizes};

pub struct Drive {
    pub world: World,
    pub state: State,
    /// What the last move violated.
    pub violated: Vec<&'static str>,
}

impl Drive {
    /// Two clients of `file` under an assumption set, before anything happened.
    pub fn of(file: &LockFile, words: &str) -> Drive {
        let mut sizes = sizes(file, 2);
        // Rules are looked at one at a time; commands are given up after a tick.
        sizes.timeout_ticks = Some(1);
        let mut checker = Checker::new(file, options(&sizes, 1)).unwrap();
        let world = checker.world(&set(words, sizes.ttl_ticks)).unwrap();
        let state = world.start();
        Drive {
            world,
            state,
            violated: Vec::new(),
        }
    }

    pub fn moves(&self) -> Vec<(Move, Transition<State>)> {
        let mut moves = Vec::new();
        self.world.successors(&self.state, &mut |transition| {
            moves.push((Move::decode(transition.action).unwrap(), transition));
        });
        moves
    }

    pub fn offers(&self, step: Move) -> bool {
        self.moves().iter().any(|(offered, _)| *offered == step)
    }

    pub fn take(&mut self, step: Move) -> &mut Drive {
        let moves = self.moves();
        let found = moves.iter().find(|(offered, _)| *offered == step);
        let Some((_, transition)) = found else {
            let offered: Vec<Move> = moves.iter().map(|(offered, _)| *offered).collect();
            panic!("{step:?} is not offered; there are {offered:?}");
        };
        assert_eq!(transition.overflow, 0, "{step:?}");
        self.state = transition.state;
        self.violated = PROPERTIES
            .iter()
            .filter(|info| match info.property {
                Property::Safety(property) => transition.violates & property.bit() != 0,
                Property::Branching(_) | Property::Fair(_) => false,
            })
            .map(|info| info.id)
            .collect();
        self
    }

    pub fn acquire(&mut self, client: u8) -> &mut Drive {
        self.take(Move::Call {
            client,
            op: Op::Acquire,
        })
    }

    pub fn release(&mut self, client: u8) -> &mut Drive {
        self.take(Move::Call {
            client,
            op: Op::Release,
        })
    }

    pub fn tick(&mut self) -> &mut Drive {
        self.take(Move::Tick)
    }

    pub fn ticks(&self) -> bool {
        self.offers(Move::Tick)
    }

    /// The command whose time-out has struck is given up.
    pub fn give_up(&mut self, client: u8) -> &mut Drive {
        self.take(Move::Wake { client, thread: 0 })
    }

    pub fn messages(&self, client: u8) -> Vec<(u8, Message)> {
        (0..self.world.config.slots() as u8)
            .filter_map(|slot| Some((slot, self.world.message_in(&self.state, client, slot)?)))
            .collect()
    }

    /// The requests of a client in flight, as the servers see them, in order.
    pub fn requests(&self, client: u8) -> Vec<String> {
        let mut all: Vec<String> = self
            .messages(client)
            .iter()
            .filter_map(|(_, message)| self.text(message))
            .collect();
        all.sort();
        all
    }

    fn text(&self, message: &Message) -> Option<String> {
        let Content::Request(id) = message.content else {
            return None;
        };
        let argv = &self.world.tables.closure.commands.get(id).argv;
        let words = argv.iter().map(|word| shown(word));
        Some(words.collect::<Vec<_>>().join(" "))
    }

    /// Executes the request in flight that contains `part`.
    pub fn execute(&mut self, client: u8, part: &str) -> &mut Drive {
        let slot = self.slot_of(client, part);
        self.take(Move::Execute {
            client,
            slot,
            way: 0,
        })
    }

    /// The slot of the request in flight that contains `part`.
    pub fn slot_of(&self, client: u8, part: &str) -> u8 {
        let fits = |message: &Message| self.text(message).is_some_and(|text| text.contains(part));
        let messages = self.messages(client);
        let found = messages.iter().find(|(_, message)| fits(message));
        let found = found.unwrap_or_else(|| panic!("no {part:?} in {:?}", self.requests(client)));
        found.0
    }

    /// The reply in flight to a client, as its server gave it.
    pub fn reply(&self, client: u8) -> (u8, Reply) {
        let replies = self.messages(client);
        let found = replies
            .iter()
            .find_map(|(slot, message)| match message.content {
                Content::Reply(id) => {
                    Some((*slot, self.world.tables.closure.replies.get(id).clone()))
                }
                _ => None,
            });
        found.unwrap_or_else(|| panic!("no reply in flight to client {client}"))
    }

    pub fn deliver(&mut self, client: u8) -> &mut Drive {
        let (slot, _) = self.reply(client);
        self.take(Move::Deliver {
            client,
            slot,
            more: false,
        })
    }

    /// A whole round trip of the one request in flight.
    pub fn answer(&mut self, client: u8) -> &mut Drive {
        self.execute(client, "").deliver(client)
    }

    /// What the first server holds, for a glance.
    pub fn keyspace(&self) -> String {
        let id = self.world.keyspace(&self.state, 0);
        let keyspace = self.world.tables.closure.keyspaces.get(id);
        let step_ms = self.world.tables.needs.step_ms;
        let entries: Vec<String> = keyspace
            .entries()
            .iter()
            .map(|entry| {
                let key = shown(&entry.key);
                let life = entry.life.map(|life| life.value(step_ms));
                match &entry.value {
                    lockproof_redis::Value::String(text) => {
                        format!("{key}={} {life:?}", shown(text))
                    }
                    other => format!("{key}={other:?} {life:?}"),
                }
            })
            .collect();
        entries.join("; ")
    }
}
