//! Commands and replies: as clients and as servers see them, and as they age.

use std::collections::BTreeSet;

use super::error::{foreign, intern};
use super::{Closure, ClosureError, Command, Needs};
use crate::redis::{Bytes, Reply};
use crate::world::symbols::{self, GENERATIONS, STALE};
use crate::world::{unmodelled, wait};

impl Closure {
    pub(super) fn add_local_command(
        &mut self,
        argv: Vec<Bytes>,
        line: u32,
    ) -> Result<u16, ClosureError> {
        if let Some(id) = self.local_commands.find(&argv) {
            return Ok(id);
        }
        self.server_time |= unmodelled::examine(&argv, line)?;
        wait::ticks(&argv, self.needs.tick_ms)
            .map_err(|what| ClosureError::NotModelled { line, what })?;
        let id = intern(&mut self.local_commands, &argv, "set of commands")?;
        let family = self.family_of(&argv, line)?;
        for client in 0..self.needs.clients {
            for index in 0..self.needs.skews.len() {
                let skew = self.skew_ms(index);
                let argv = to_server(&argv, client, skew, self.needs.horizon_ms)
                    .map_err(|symbol| foreign(&argv, line, symbol))?;
                intern(
                    &mut self.commands,
                    &Command {
                        client,
                        family,
                        argv,
                    },
                    "set of commands",
                )?;
            }
        }
        Ok(id)
    }

    /// Of each command that is a WAIT, in how many ticks it gives up; nothing at
    /// all if none is.
    pub fn waits(&self) -> Vec<Option<u8>> {
        let ticks = |command: &Command| {
            let ticks = wait::ticks(&command.argv, self.needs.tick_ms);
            ticks.unwrap_or_default()
        };
        let waits: Vec<_> = self.commands.items().iter().map(ticks).collect();
        if waits.iter().all(Option::is_none) {
            return Vec::new();
        }
        waits
    }

    /// The number of an argv's family.
    fn family_of(&mut self, argv: &[Bytes], line: u32) -> Result<u16, ClosureError> {
        let masked: Vec<Bytes> = argv.iter().map(|word| symbols::mask_times(word)).collect();
        let family = intern(&mut self.families, &masked, "set of commands")?;
        if self.family_replies.len() <= usize::from(family) {
            self.family_replies.push(BTreeSet::new());
            self.family_lines.push(line);
        }
        Ok(family)
    }

    /// The family of a command that was seen before.
    pub fn family(&self, local_command: u16) -> u16 {
        let argv = self.local_commands.get(local_command);
        let masked: Vec<Bytes> = argv.iter().map(|word| symbols::mask_times(word)).collect();
        self.families.find(&masked).unwrap_or(u16::MAX)
    }

    /// Closes commands and replies under age and retirement, and hands every
    /// reply to the families that can get it.
    pub(super) fn close_messages(&mut self) -> Result<(), ClosureError> {
        let masks = self.masks();
        let mut id = 0;
        while id < self.commands.len() {
            let command = self.commands.get(id as u16).clone();
            for argv in self.variants(&command.argv, &masks) {
                let variant = Command {
                    argv,
                    ..command.clone()
                };
                intern(&mut self.commands, &variant, "set of commands")?;
            }
            id += 1;
        }
        Ok(())
    }

    /// A message after a tick and after each retirement.
    fn variants(&self, argv: &[Bytes], masks: &[u8]) -> Vec<Vec<Bytes>> {
        let mut out = Vec::new();
        if self.needs.ageing && argv.iter().any(|word| symbols::has_time(word)) {
            let horizon = self.needs.horizon_ms;
            let age = |word: &Bytes| symbols::shift(word, -self.needs.tick_ms, horizon);
            out.push(argv.iter().map(age).collect());
        }
        for client in 0..self.needs.clients {
            if argv
                .iter()
                .any(|word| symbols::generations(word, client) != 0)
            {
                for mask in masks {
                    let map = retirement(*mask);
                    let retire = |word: &Bytes| symbols::retire(word, client, &map);
                    out.push(argv.iter().map(retire).collect());
                }
            }
        }
        out
    }

    /// The sets of token generations that messages in flight can name when
    /// their client starts a new attempt.
    pub fn masks(&self) -> Vec<u8> {
        let bits = (self.needs.slots + 1).min(GENERATIONS);
        (0..1u8 << bits)
            .filter(|mask| mask.count_ones() <= u32::from(self.needs.slots))
            .collect()
    }

    /// Closes replies under age and retirement and translates them for clients.
    pub(super) fn close_replies(&mut self, masks: &[u8]) -> Result<(), ClosureError> {
        // Which families can get which reply.
        let mut reach: BTreeSet<(u16, u16)> = BTreeSet::new();
        for table in [&self.executions, &self.refusals] {
            for (id, row) in table.iter().enumerate() {
                let command = self.commands.get(id as u16);
                for execution in row {
                    reach.insert((command.family, execution.reply));
                }
            }
        }
        // The formal server has no replica, and answers WAIT with none.
        let waits = self.waits();
        for (id, _) in waits.iter().enumerate().filter(|(_, wait)| wait.is_some()) {
            let family = self.commands.get(id as u16).family;
            for count in [0, 1] {
                reach.insert((
                    family,
                    intern(&mut self.replies, &Reply::Int(count), "set of replies")?,
                ));
            }
        }
        let mut open: Vec<(u16, u16)> = reach.iter().copied().collect();
        while let Some((family, reply)) = open.pop() {
            for variant in self.reply_variants(reply, masks) {
                let id = intern(&mut self.replies, &variant, "set of replies")?;
                if reach.insert((family, id)) {
                    open.push((family, id));
                }
            }
        }
        for (family, reply) in reach {
            self.hand_to_clients(family, reply)?;
        }
        Ok(())
    }

    fn reply_variants(&self, reply: u16, masks: &[u8]) -> Vec<Reply> {
        let reply = self.replies.get(reply);
        let mut out = Vec::new();
        if self.needs.ageing {
            out.push(self.aged_reply(reply));
        }
        for client in 0..self.needs.clients {
            for mask in masks {
                out.push(self.retired_reply(reply, client, *mask));
            }
        }
        out
    }

    /// A reply one tick later.
    pub fn aged_reply(&self, reply: &Reply) -> Reply {
        let Needs {
            tick_ms,
            horizon_ms,
            ..
        } = self.needs;
        symbols::map_reply(reply, &mut |text| {
            symbols::shift(text, -tick_ms, horizon_ms)
        })
    }

    /// A reply after a client started a new attempt.
    pub fn retired_reply(&self, reply: &Reply, client: u8, mask: u8) -> Reply {
        let map = retirement(mask);
        symbols::map_reply(reply, &mut |text| symbols::retire(text, client, &map))
    }

    /// A reply as `client` reads it.
    pub fn local_reply(&self, reply: &Reply, client: u8, skew_ms: i64) -> Reply {
        let horizon = self.needs.horizon_ms;
        symbols::map_reply(reply, &mut |text| {
            symbols::to_local(text, client, skew_ms, horizon)
        })
    }

    fn hand_to_clients(&mut self, family: u16, reply: u16) -> Result<(), ClosureError> {
        for client in 0..self.needs.clients {
            for index in 0..self.needs.skews.len() {
                let skew = self.skew_ms(index);
                let local = self.local_reply(self.replies.get(reply), client, skew);
                let id = intern(&mut self.local_replies, &local, "set of replies")?;
                self.family_replies[usize::from(family)].insert(id);
                self.add_twin(family, id, &local)?;
            }
        }
        Ok(())
    }

    fn add_twin(&mut self, family: u16, id: u16, local: &Reply) -> Result<(), ClosureError> {
        let mut found = false;
        let twin = symbols::map_reply(local, &mut |text| match symbols::twin(text) {
            Some(twin) => {
                found = true;
                twin
            }
            None => text.to_vec(),
        });
        if found {
            let twin = intern(&mut self.local_replies, &twin, "set of replies")?;
            self.family_replies[usize::from(family)].insert(twin);
            self.twins.insert(twin, id);
        }
        Ok(())
    }
}

/// What becomes of each generation when a client starts a new attempt while
/// its messages in flight name the generations in `mask`.
pub fn retirement(mask: u8) -> [u8; GENERATIONS as usize] {
    let mut map = [STALE; GENERATIONS as usize];
    let mut rank = 1;
    for generation in 0..GENERATIONS {
        if mask & 1 << generation != 0 {
            map[usize::from(generation)] = rank.min(STALE);
            rank += 1;
        }
    }
    map
}

/// A command line as the servers see it.
pub fn to_server(
    argv: &[Bytes],
    client: u8,
    skew_ms: i64,
    horizon_ms: i64,
) -> Result<Vec<Bytes>, String> {
    argv.iter()
        .map(|word| symbols::to_server(word, client, skew_ms, horizon_ms))
        .collect()
}
