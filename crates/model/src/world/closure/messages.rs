//! Commands and replies: as clients and as servers see them, and as they age.

use std::collections::BTreeSet;

use lockproof_lua::text;
use lockproof_redis::{Bytes, Reply};

use super::error::intern;
use super::{Closure, ClosureError, Command, LocalCommand};
use crate::lock::{Kept, sends_kept};
use crate::world::client::Published;
use crate::world::program::ClientProgram;
use crate::world::symbols::{self, GENERATIONS, KEPT_BITS, Renaming, Retirement, ToLocal};
use crate::world::unmodelled::Unmodelled;
use crate::world::watches::{Connection, Guard};
use crate::world::{pops, scripts, unmodelled, wait};

impl Closure {
    pub(super) fn add_local_command(
        &mut self,
        program: &dyn ClientProgram,
        local: &LocalCommand,
        line: u32,
    ) -> Result<u16, ClosureError> {
        if let Some(id) = self.local_commands.find(local) {
            return Ok(id);
        }
        let LocalCommand {
            sender,
            connection,
            argv,
            ..
        } = local;
        if !self.keeps && sends_kept(argv) {
            // The closure begins anew, and tells servers which tokens are kept.
            self.has_to_keep = true;
            return Err(ClosureError::Stopped);
        }
        let not_modelled = |what: String| ClosureError::NotModelled {
            at: self.at(line),
            what: format!("the lock {what}"),
        };
        unmodelled::examine(argv, self.rules.dialect).map_err(|why| match why {
            Unmodelled::Lacks(what) => not_modelled(what),
            Unmodelled::Nowhere(what) => self.mistaken(line, format!("the lock {what}")),
        })?;
        let named = scripts::named(argv).map_err(not_modelled)?;
        if !named.is_subset(&self.rules.by_sha) {
            // The closure begins anew, and follows whether servers know these.
            self.has_to_know = named;
            return Err(ClosureError::Stopped);
        }
        wait::ticks(argv, self.needs.step_ms).map_err(not_modelled)?;
        let sends = |what: String| not_modelled(format!("sends {what}"));
        pops::ticks(argv, self.needs.step_ms).map_err(sends)?;
        if let Some((channel, _)) = subscription(argv) {
            self.listen(channel)
                .map_err(|what| ClosureError::NotModelled {
                    at: self.at(line),
                    what,
                })?;
        }
        if let Some(ms) = wait::timeout_ms(argv).or(pops::timeout_ms(argv)) {
            self.note_duration(ms, line);
        }
        let script = argv.get(1).and_then(|text| program.script_name(text));
        let id = intern(&mut self.local_commands, local, "set of commands")?;
        let family = self.family_of(argv, line, script)?;
        for client in 0..self.needs.clients {
            if !self.sends(client, local) {
                continue;
            }
            for index in 0..self.needs.skews.len() {
                let argv = self.to_server(argv, client, index);
                intern(
                    &mut self.commands,
                    &Command {
                        client,
                        sender: *sender,
                        connection: *connection,
                        family,
                        argv,
                    },
                    "set of commands",
                )?;
            }
        }
        Ok(id)
    }

    /// The client has the lock object that sends this command.
    pub fn sends(&self, client: u8, command: &LocalCommand) -> bool {
        let objects = self.needs.objects;
        objects.is_none_or(|objects| objects.place(client) == command.object)
    }

    /// Clients listen to this channel.
    fn listen(&mut self, channel: &Bytes) -> Result<(), String> {
        match &self.channel {
            Some(known) if known != channel => {
                let [known, other] = [known, channel].map(|name| text::printable(name));
                Err(format!(
                    "the lock subscribes to two channels, `{known}` and `{other}`; in the model each client has one"
                ))
            }
            _ => {
                self.channel = Some(channel.clone());
                Ok(())
            }
        }
    }

    /// A command line as the servers see it, from a client whose clock is off so.
    pub fn to_server(&self, argv: &[Bytes], client: u8, skew: usize) -> Vec<Bytes> {
        let ticks = i32::from(self.needs.skews[skew]);
        let (people, scale) = (self.needs.people(), self.needs.server_scale());
        argv.iter()
            .map(|word| symbols::to_server(word, client, people, ticks, scale))
            .collect()
    }

    /// Where a script is first named by its SHA-1, if any is.
    pub fn names_scripts_at(&self) -> Option<String> {
        let named = |argv: &Vec<Bytes>| scripts::named(argv).is_ok_and(|names| !names.is_empty());
        let family = self.families.items().iter().position(named)?;
        Some(self.at(self.family_lines[family]))
    }

    /// Of each command, whether it begins or ends a subscription; nothing at all if no
    /// client listens.
    pub fn subscriptions(&self) -> Vec<Option<bool>> {
        if self.channel.is_none() {
            return Vec::new();
        }
        let commands = self.commands.items().iter();
        commands
            .map(|command| subscription(&command.argv).map(|(_, begins)| begins))
            .collect()
    }

    /// Commands of this family begin or end a subscription.
    pub fn subscribes(&self, family: u16) -> bool {
        let mut commands = self.commands.items().iter();
        let one = commands.find(|command| command.family == family);
        one.is_some_and(|command| subscription(&command.argv).is_some())
    }

    /// By the number of a message, the clients (a bit set) that may listen to its channel.
    pub fn hearers(&self) -> Vec<u8> {
        let clients = 0..self.needs.clients;
        let channels: Vec<_> = clients.map(|client| self.channel_of(client)).collect();
        let hearers = |message: &Published| {
            let hears = |channel: &Option<Bytes>| channel.as_ref() == Some(&message.channel);
            let each = channels.iter().enumerate();
            each.fold(0, |set, (client, on)| set | u8::from(hears(on)) << client)
        };
        self.messages.items().iter().map(hearers).collect()
    }

    /// The channel that a client listens to, as servers know it.
    fn channel_of(&self, client: u8) -> Option<Bytes> {
        let (people, scale) = (self.needs.people(), self.needs.server_scale());
        let channel = self.channel.as_ref()?;
        Some(symbols::to_server(channel, client, people, 0, scale))
    }

    /// The messages as the client reads them that hears them. Nobody hears two of one text on
    /// different channels.
    pub(super) fn messages_heard(&self) -> Vec<Published> {
        let hearers = self.hearers();
        let each = self.messages.items().iter().zip(hearers);
        let local = |(message, hearers): (&Published, u8)| Published {
            channel: match &self.channel {
                Some(channel) if hearers != 0 => channel.clone(),
                _ => message.channel.clone(),
            },
            payload: message.payload.clone(),
        };
        each.map(local).collect()
    }

    /// By the number of a publication: its messages on channels that clients listen to.
    pub fn publications_heard(&self) -> Vec<Vec<u16>> {
        let hearers = self.hearers();
        let heard = |message: &&u16| hearers[usize::from(**message)] != 0;
        let publications = self.publications.items().iter();
        publications
            .map(|messages| messages.iter().filter(heard).copied().collect())
            .collect()
    }

    /// Of each command that is a WAIT, in how many ticks it gives up; nothing at
    /// all if none is.
    pub fn waits(&self) -> Vec<Option<u8>> {
        let ticks = |command: &Command| {
            let ticks = wait::ticks(&command.argv, self.needs.step_ms);
            ticks.unwrap_or_default()
        };
        let waits: Vec<_> = self.commands.items().iter().map(ticks).collect();
        if waits.iter().all(Option::is_none) {
            return Vec::new();
        }
        waits
    }

    /// Of each command that is a BLPOP, in how many ticks it gives up; nothing at all if
    /// none is.
    pub fn pops(&self) -> Vec<Option<u8>> {
        let ticks = |command: &Command| {
            let ticks = pops::ticks(&command.argv, self.needs.step_ms);
            ticks.unwrap_or_default()
        };
        let pops: Vec<_> = self.commands.items().iter().map(ticks).collect();
        if pops.iter().all(Option::is_none) {
            return Vec::new();
        }
        pops
    }

    /// The number of an argv's family.
    fn family_of(
        &mut self,
        argv: &[Bytes],
        line: u32,
        script: Option<String>,
    ) -> Result<u16, ClosureError> {
        let masked: Vec<Bytes> = argv.iter().map(|word| symbols::mask_times(word)).collect();
        let family = intern(&mut self.families, &masked, "set of commands")?;
        if self.family_replies.len() <= usize::from(family) {
            self.family_replies.push(BTreeSet::new());
            self.family_lines.push(line);
            self.family_scripts.push(script);
            self.family_senders.push(0);
        }
        Ok(family)
    }

    /// The family of a command that was seen before.
    pub fn family(&self, local_command: u16) -> u16 {
        let argv = &self.local_commands.get(local_command).argv;
        let masked: Vec<Bytes> = argv.iter().map(|word| symbols::mask_times(word)).collect();
        self.families.find(&masked).unwrap_or(u16::MAX)
    }

    /// Closes commands under age and retirement.
    pub(super) fn close_messages(&mut self) -> Result<(), ClosureError> {
        let renamings = self.renamings();
        let mut id = 0;
        while id < self.commands.len() {
            let command = self.commands.get(id as u16).clone();
            for argv in self.command_variants(&command.argv, &renamings) {
                let variant = Command {
                    argv,
                    ..command.clone()
                };
                intern(&mut self.commands, &variant, "set of commands")?;
            }
            for given_up in given_up(&command) {
                intern(&mut self.commands, &given_up, "set of commands")?;
            }
            id += 1;
        }
        Ok(())
    }

    /// A command in flight after a tick, and after each retirement.
    fn command_variants(&self, argv: &[Bytes], renamings: &[Renaming]) -> Vec<Vec<Bytes>> {
        let mut out = Vec::new();
        if self.needs.ageing && argv.iter().any(|word| symbols::has_time(word)) {
            out.push(argv.iter().map(|word| self.aged(word)).collect());
        }
        for client in 0..self.needs.clients {
            if argv
                .iter()
                .any(|word| symbols::generations(word, client) != 0)
            {
                out.extend(renamings.iter().map(|map| retired(argv, client, map)));
            }
        }
        out
    }

    /// A text in flight one tick later.
    pub fn aged(&self, text: &[u8]) -> Bytes {
        symbols::age(text, 1, self.needs.server_scale(), None)
    }

    /// The sets of tokens that messages in flight can name when their client starts a new
    /// attempt, by their places in a [`Renaming`].
    pub fn masks(&self) -> Vec<u8> {
        let bits = (self.needs.slots + 1).min(GENERATIONS);
        let kept = if self.keeps { KEPT_BITS } else { 0 };
        (0..=u8::MAX)
            .filter(|mask| mask & !(((1 << bits) - 1) | kept) == 0)
            .filter(|mask| mask.count_ones() <= u32::from(self.needs.slots))
            .collect()
    }

    /// What clients keep when a new attempt begins.
    pub fn kept(&self) -> Vec<Kept> {
        self.kept.iter().copied().collect()
    }

    /// Commands of this family are transactions that their clients send only on a connection
    /// that watches, or (`guarded` is false) on any.
    pub(super) fn is_multi(&self, family: u16, guarded: bool) -> bool {
        Guard::of(self.families.get(family)) == Some(Guard::Multi(guarded))
    }

    /// Where a key is first watched, if any is.
    pub fn watches_at(&self) -> Option<String> {
        let watches = |argv: &Vec<Bytes>| Guard::of(argv) == Some(Guard::Watch);
        let family = self.families.items().iter().position(watches)?;
        Some(self.at(self.family_lines[family]))
    }

    /// What each command has to do with watches; nothing at all if none has.
    pub fn guards(&self) -> Vec<Option<Guard>> {
        let commands = self.commands.items().iter();
        let guards: Vec<_> = commands.map(|command| Guard::of(&command.argv)).collect();
        if guards.iter().all(Option::is_none) {
            return Vec::new();
        }
        guards
    }

    /// What can become of a client's tokens when it starts a new attempt: for each of what
    /// it keeps, for each of [`Closure::masks`].
    pub fn renamings(&self) -> Vec<Renaming> {
        let masks = self.masks();
        let each = |kept: &Kept| {
            let kept = *kept;
            masks
                .iter()
                .map(move |mask| symbols::retirement(*mask, kept))
        };
        self.kept.iter().flat_map(each).collect()
    }

    /// Closes replies under age and retirement and translates them for clients.
    pub(super) fn close_replies(&mut self, renamings: &[Renaming]) -> Result<(), ClosureError> {
        // Which families can get which reply.
        let mut reach: BTreeSet<(u16, u16)> = BTreeSet::new();
        for table in [&self.executions, &self.refusals] {
            for (id, row) in table.iter().enumerate() {
                let command = self.commands.get(id as u16);
                for execution in row.iter().filter(|execution| execution.poison == 0) {
                    reach.insert((command.family, execution.reply));
                }
            }
        }
        for ((command, ..), ways) in self.ways.iter().chain(&self.heard) {
            let family = self.commands.get(*command).family;
            let ways = ways.iter().filter(|way| way.poison == 0);
            reach.extend(ways.map(|way| (family, way.reply)));
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
        // A BLPOP that waits in vain.
        let pops = self.pops();
        for (id, _) in pops.iter().enumerate().filter(|(_, pop)| pop.is_some()) {
            let family = self.commands.get(id as u16).family;
            let nothing = intern(&mut self.replies, &Reply::Nil, "set of replies")?;
            reach.insert((family, nothing));
        }
        let mut open: Vec<(u16, u16)> = reach.iter().copied().collect();
        while let Some((family, reply)) = open.pop() {
            let others = self.orders_of(reply);
            let variants = self.reply_variants(reply, renamings);
            let of_others: Vec<_> = others
                .iter()
                .map(|other| self.reply_variants(*other, renamings))
                .collect();
            for (at, variant) in variants.iter().enumerate() {
                let id = intern(&mut self.replies, variant, "set of replies")?;
                if reach.insert((family, id)) {
                    open.push((family, id));
                }
                for of_other in &of_others {
                    let other = intern(&mut self.replies, &of_other[at], "set of replies")?;
                    self.reorder(other, id);
                }
            }
        }
        for (family, reply) in reach {
            self.hand_to_clients(family, reply)?;
        }
        Ok(())
    }

    fn reply_variants(&self, reply: u16, renamings: &[Renaming]) -> Vec<Reply> {
        let reply = self.replies.get(reply);
        let mut out = Vec::new();
        if self.needs.ageing {
            out.push(self.aged_reply(reply));
        }
        for client in 0..self.needs.clients {
            for map in renamings {
                out.push(self.retired_reply(reply, client, map));
            }
        }
        if self.rules.keys.has_fences() {
            let renumberings = self.needs.renumberings();
            out.extend(renumberings.into_iter().map(|how| how.reply(reply)));
        }
        out
    }

    /// A reply one tick later.
    pub fn aged_reply(&self, reply: &Reply) -> Reply {
        symbols::map_reply(reply, &mut |text| self.aged(text))
    }

    /// A reply after a client started a new attempt.
    pub fn retired_reply(&self, reply: &Reply, client: u8, map: &Renaming) -> Reply {
        let mut retirement = Retirement::new(client, map);
        symbols::map_reply(reply, &mut |text| retirement.text(text))
    }

    /// A reply as `client` reads it, whose clock is off so.
    pub fn local_reply(&self, reply: &Reply, client: u8, skew: usize) -> Reply {
        let ticks = i32::from(self.needs.skews[skew]);
        let mut local = ToLocal::new(client, self.needs.people(), ticks, self.needs.scale());
        symbols::map_reply(reply, &mut |text| local.text(text))
    }

    /// What else a reply could be: the same in another order.
    pub fn orders_of(&self, reply: u16) -> Vec<u16> {
        let others = self.reordered.iter().filter(|(_, main)| *main == reply);
        others.map(|(other, _)| *other).collect()
    }

    /// `other` lists what `main` does, in another order.
    pub(super) fn reorder(&mut self, other: u16, main: u16) {
        if other != main {
            self.reordered.insert((other, main));
        }
    }

    fn hand_to_clients(&mut self, family: u16, reply: u16) -> Result<(), ClosureError> {
        let others = self.orders_of(reply);
        for client in 0..self.needs.clients {
            for index in 0..self.needs.skews.len() {
                let main = self.hand(family, reply, client, index)?;
                for other in &others {
                    let variant = self.hand(family, *other, client, index)?;
                    if variant != main {
                        self.variants.insert((variant, main));
                    }
                }
            }
        }
        Ok(())
    }

    fn hand(
        &mut self,
        family: u16,
        reply: u16,
        client: u8,
        skew: usize,
    ) -> Result<u16, ClosureError> {
        let local = self.local_reply(self.replies.get(reply), client, skew);
        let id = intern(&mut self.local_replies, &local, "set of replies")?;
        self.family_replies[usize::from(family)].insert(id);
        Ok(id)
    }
}

/// The channel of a command that begins (`true`) or ends a subscription.
pub fn subscription(argv: &[Bytes]) -> Option<(&Bytes, bool)> {
    let [name, channel] = argv else {
        return None;
    };
    let begins = name.eq_ignore_ascii_case(b"subscribe");
    let is_one = begins || name.eq_ignore_ascii_case(b"unsubscribe");
    is_one.then_some((channel, begins))
}

/// What a command is when its client has given it up, with a watch on its connection or
/// without one; itself if that makes no difference to it.
pub(in crate::world) fn given_up(command: &Command) -> [Command; 2] {
    let guard = Guard::of(&command.argv);
    let present = command.connection == Connection::Present;
    [false, true].map(|watched| match guard.filter(|_| present) {
        None => command.clone(),
        Some(guard) => Command {
            connection: guard.given_up(watched),
            ..command.clone()
        },
    })
}

/// A command line after a client's retirement.
pub(in crate::world) fn retired(argv: &[Bytes], client: u8, map: &Renaming) -> Vec<Bytes> {
    let mut retirement = Retirement::new(client, map);
    argv.iter().map(|word| retirement.text(word)).collect()
}
