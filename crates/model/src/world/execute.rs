//! What a command makes of a keyspace, and whose hold it touches.

mod bounds;
mod writers;

use lockproof_lua::text::{self, NameKind, Symbol};
use lockproof_lua::{Refusal, RefusalKind, Scale};
use lockproof_redis::{self as redis, Bytes, Notes, Reply, ScriptEngine, Server, Value};

use crate::lock::Role;

use super::counts;
use super::fences::{self, Draw};
use super::node::{CANONICAL_PRESENT, Entry, KeyRules, Keyspace, Writers};
use super::owners::{Author, Owners};
use super::scripts::Scripts;
use super::stamps;
use super::symbols;
use super::watches::{self, Watches};
use bounds::{ELEMENTS_MAX, counter_ran_away, has_grown, stale_stamps};
use writers::{expiry_victims, touched, writers};

/// What a command did to the keyspace, seen from the properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Effect {
    /// Other clients (bit set) whose hold it ended by deleting an element, or
    /// whose expiry it changed.
    pub victims: u8,
    /// Other clients (bit set) whose element it wrote over.
    pub overwritten: u8,
    /// It wrote something of the lock's own, or prolonged what was the sender's.
    pub wrote: bool,
    /// And that lasts a lease from now on, or has no end.
    pub leased: bool,
    /// It deleted something of the sender's own.
    pub deleted: bool,
    /// It created an entry of the lock's own.
    pub created: bool,
}

/// The outcome of one command.
#[derive(Clone, Debug, PartialEq)]
pub struct Executed {
    pub after: Keyspace,
    /// More than one where it lists what has no order.
    pub replies: Vec<Reply>,
    pub effect: Effect,
    /// A fence has another value now: a write, though nothing else tells it.
    pub counted: bool,
    /// It drew a fence of which others hear.
    pub drew: Option<Draw>,
    /// The key of what grew beyond what the tables represent.
    pub overflow: Option<String>,
    /// Why the execution says nothing about a real server, and whether a script
    /// did it.
    pub refusal: Option<(Refusal, bool)>,
    /// What the server's clock shows mattered.
    pub clock: bool,
    /// The letters of members of a sorted set decided how they lie.
    pub tied: bool,
    /// Lives that were given to keys, in ms, ticks left out.
    pub lives: Vec<i64>,
    /// Messages that were published, in order: channel and payload.
    pub published: Vec<(Bytes, Bytes)>,
}

/// How a command is run.
#[derive(Clone, Copy, Default)]
struct Run {
    /// The server lacks the replica which it asks for to write.
    alone: bool,
    /// So many clients listen to what is published.
    listeners: u32,
    /// See [`Server::set_order`].
    order: u32,
    /// See [`Server::set_answers`].
    answers: u32,
}

/// Runs commands on keyspaces.
pub struct Executor<'e> {
    pub scripts: &'e mut ScriptEngine,
    pub rules: &'e KeyRules,
    /// How times are measured; `None` for concrete texts and ms.
    pub scale: Option<Scale>,
    /// The servers' present, in ms.
    pub present: i64,
}

impl<'e> Executor<'e> {
    /// One for canonical texts.
    pub fn canonical(
        scripts: &'e mut ScriptEngine,
        rules: &'e KeyRules,
        scale: Scale,
    ) -> Executor<'e> {
        Executor {
            scripts,
            rules,
            scale: Some(scale),
            present: CANONICAL_PRESENT,
        }
    }

    /// Runs one command of `author`. A server that is `alone` lacks the replica
    /// which it asks for to write, and so many clients listen to what it publishes.
    /// Comparisons of times that are open come out as if everything happened at ticks.
    pub fn execute(
        &mut self,
        before: &Keyspace,
        author: Author,
        argv: &[Bytes],
        (alone, listeners): (bool, u32),
    ) -> Executed {
        let run = Run {
            alone,
            listeners,
            ..Run::default()
        };
        self.execute_so(before, author, argv, run).0
    }

    /// The same, and all else that can come of it: comparisons of times in a script may
    /// come out the other way.
    pub fn execute_all_ways(
        &mut self,
        before: &Keyspace,
        author: Author,
        argv: &[Bytes],
        (alone, listeners): (bool, u32),
    ) -> (Executed, Vec<Executed>) {
        let run = Run {
            alone,
            listeners,
            ..Run::default()
        };
        let (main, opened) = self.execute_so(before, author, argv, run);
        let mut others: Vec<Executed> = Vec::new();
        // Of each way: which answers are turned round, and after how many of them the rest
        // is as at ticks.
        let turned = |answers: u32, from: u32, opened: u32| {
            (from..opened).map(move |at| (answers | 1 << at, at + 1))
        };
        let mut open: Vec<(u32, u32)> = turned(0, 0, opened).collect();
        while let Some((answers, from)) = open.pop() {
            let (way, opened) = self.execute_so(before, author, argv, Run { answers, ..run });
            open.extend(turned(answers, from, opened));
            if way != main && !others.contains(&way) {
                others.push(way);
            }
        }
        (main, others)
    }

    /// Runs one command like this; and how many comparisons of times were open.
    fn execute_so(
        &mut self,
        before: &Keyspace,
        author: Author,
        argv: &[Bytes],
        run: Run,
    ) -> (Executed, u32) {
        let (server, reply, notes) = self.run(before, author, argv, run);
        // In another order a script may go further: list more, and compare more times.
        let (mut orders, mut opened) = (notes.orders, notes.opened);
        let mut executed = self.judge(before, &server, author, reply, notes);
        let mut order = 0;
        while order + 1 < orders {
            order += 1;
            let (other, reply, notes) = self.run(before, author, argv, Run { order, ..run });
            orders = orders.max(notes.orders);
            opened = opened.max(notes.opened);
            let same = other == server && notes.published == executed.published;
            let reply = match executed.drew {
                Some(_) => symbols::map_reply(&reply, &mut |text| fences::settled(text)),
                None => reply,
            };
            executed.refusal = executed.refusal.or(notes.refusal);
            executed.clock |= notes.clock;
            if !same {
                let refusal = Refusal {
                    kind: RefusalKind::Order,
                    what:
                        "leaves something else behind, depending on an order that nobody promises"
                            .into(),
                    line: 0,
                };
                executed.refusal = executed.refusal.or(Some((refusal, true)));
            }
            if !executed.replies.contains(&reply) {
                executed.replies.push(reply);
            }
        }
        (executed, opened)
    }

    fn run(
        &mut self,
        before: &Keyspace,
        author: Author,
        argv: &[Bytes],
        run: Run,
    ) -> (Server, Reply, Notes) {
        let mut server = before.to_server(self.present, self.scale, self.rules.dialect);
        server.set_lacks_replicas(run.alone);
        server.set_listeners(run.listeners);
        server.set_order(run.order);
        server.set_answers(run.answers);
        if self.scale.is_some() {
            server.set_fences(self.rules.keys.fences(&self.rules.key));
        }
        let connection = author.connection.number(author.client);
        let mut reply = watches::execute(&mut server, self.scripts, connection, argv);
        if self.scale.is_some() {
            reply = stamps::keep(&mut server, author.client, argv, reply);
        }
        let notes = server.take_notes();
        (server, reply, notes)
    }

    /// The keyspace of `server` after a command of `author` on `before`.
    fn judge(
        &self,
        before: &Keyspace,
        server: &Server,
        author: Author,
        reply: Reply,
        notes: Notes,
    ) -> Executed {
        let mut executed = Executed {
            after: Keyspace {
                entries: Vec::new(),
                offset_ms: before.offset_ms,
                scripts: Scripts::of(server, &self.rules.by_sha),
                watches: Watches::of(server),
            },
            replies: vec![reply],
            effect: Effect::default(),
            counted: false,
            drew: None,
            overflow: None,
            refusal: notes.refusal.clone(),
            clock: notes.clock,
            tied: notes.tied,
            lives: notes.lives.clone(),
            published: notes.published.clone(),
        };
        self.examine_messages(&mut executed);
        for (key, value, end) in server.entries() {
            let known = before.entries.iter().find(|entry| entry.key == *key);
            let mut entry = Entry {
                key: key.clone(),
                value: value.clone(),
                life: end.map(|end| server.life(end)),
                writers: writers(known, value, &notes.written, key, author),
            };
            self.compare(known, &mut entry, author, &notes, &mut executed);
            executed.after.entries.push(entry);
        }
        for known in &before.entries {
            let gone = !executed.after.entries.iter().any(|e| e.key == known.key);
            if gone {
                self.removed(known, author, &mut executed);
            }
        }
        if executed.after.entries.len() > ELEMENTS_MAX
            && let Some(entry) = executed.after.entries.last()
        {
            executed.overflow = Some(text::printable(&entry.key));
        }
        self.settle_fences(before, &mut executed);
        if let Some(scale) = self.scale {
            stale_stamps(&mut executed, &notes.written, scale);
        }
        executed
    }

    /// What the model has of messages: texts that name nothing, on one channel at a time,
    /// whose name may have owners in it.
    fn examine_messages(&self, executed: &mut Executed) {
        if self.scale.is_none() {
            return;
        }
        let published = &executed.published;
        let several = published.iter().any(|(on, _)| *on != published[0].0);
        let names = |text: &Bytes| text.contains(&text::MARK);
        let owner = |symbol| matches!(symbol, Symbol::Name(name) if name.kind == NameKind::Owner);
        let odd = |on: &Bytes| text::symbols(on).any(|symbol| !owner(symbol));
        let what = if published.iter().any(|(on, said)| odd(on) || names(said)) {
            "publishes a token, an owner or a time, or on a channel that is named by a token or a \
             time, which the model does not follow"
        } else if several {
            "publishes on two channels at once, of which the model has one"
        } else {
            return;
        };
        refuse(executed, RefusalKind::Lacks, what.into());
    }

    /// An entry that is there afterwards, beside the one that was there before.
    fn compare(
        &self,
        known: Option<&Entry>,
        entry: &mut Entry,
        author: Author,
        notes: &Notes,
        executed: &mut Executed,
    ) {
        let role = self.rules.role(&entry.key);
        let counts = self.rules.lockers(&entry.key) & author.bit() != 0;
        let written = notes.written.iter().any(|place| place.key == entry.key);
        if written && role == Role::Other && self.rules.keys.declared {
            let key = text::printable(&entry.key);
            refuse(
                executed,
                RefusalKind::Lacks,
                format!("writes the key `{key}`, which `keys` does not declare"),
            );
        }
        if role == Role::Fence {
            executed.counted |= written;
            self.fence(known, entry, executed);
            return;
        }
        if let Some(known) = known
            && self.scale.is_some()
        {
            counts::saturate(known, entry);
        }
        if has_grown(known, entry) {
            executed.overflow = Some(text::printable(&entry.key));
        }
        // The same end, set again, is another one if the two were moments apart.
        let lasts = known.is_none_or(|known| known.life != entry.life)
            || notes.expiries.contains(&entry.key);
        let own = entry.writers.set() & author.bit() != 0;
        let anew = entry.life.is_none() && written || lasts && own;
        executed.effect.leased |= anew && counts;
        let Some(known) = known else {
            if let Some((kind, what)) = redis::no_name(&entry.key).filter(|_| self.scale.is_some())
            {
                refuse(executed, kind, what.into());
            }
            executed.effect.created |= role != Role::Queue;
            executed.effect.wrote |= counts;
            return;
        };
        if let Some(key) = counter_ran_away(known, entry) {
            executed.overflow = Some(key);
        }
        executed.effect.wrote |= written && counts;
        if role == Role::Queue {
            return;
        }
        let (gone, over) = touched(known, entry, &notes.written, author);
        executed.effect.victims |= gone & !author.bit();
        executed.effect.deleted |= gone & author.bit() != 0;
        executed.effect.overwritten |= over;
        if lasts {
            executed.effect.victims |= expiry_victims(known, entry, author, self.step_ms());
            executed.effect.wrote |= own && counts;
        }
    }

    fn step_ms(&self) -> i64 {
        self.scale.map_or(0, |scale| scale.step_ms)
    }

    fn removed(&self, known: &Entry, author: Author, executed: &mut Executed) {
        let role = self.rules.role(&known.key);
        let writers = known.writers.set();
        match role {
            Role::Fence => refuse(
                executed,
                RefusalKind::Lacks,
                "deletes the key that `keys` declares as a fence".into(),
            ),
            Role::Queue => {}
            Role::Lock | Role::Other => {
                executed.effect.victims |= writers & !author.bit();
                executed.effect.deleted |= writers & author.bit() != 0;
            }
        }
    }

    /// A fence only grows, and stays. In a model it is told by its rank.
    fn fence(&self, known: Option<&Entry>, entry: &mut Entry, executed: &mut Executed) {
        let Value::String(text) = &entry.value else {
            return refuse(
                executed,
                RefusalKind::Lacks,
                "keeps no counter in the key that `keys` declares as a fence".into(),
            );
        };
        let value = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<i64>().ok();
        let ranked = matches!(text::only_symbol(text), Some(Symbol::Fence(_)));
        let grows = match known.map(|known| &known.value) {
            Some(Value::String(old)) if self.scale.is_none() => value(text) >= value(old),
            Some(_) => ranked || self.scale.is_none(),
            None => ranked || value(text).is_some_and(|value| value > 0),
        };
        if !grows || entry.life.is_some() {
            refuse(
                executed,
                RefusalKind::Lacks,
                "sets, shrinks or lets expire the key that `keys` declares as a fence".into(),
            );
        }
        if self.scale.is_some() && !ranked {
            // It did not begin with 1, or its name has a token in it.
            entry.value = Value::String(Symbol::Fence(text::UNRANKED).text());
        }
        entry.writers = Writers::One(Owners::only(0));
    }

    /// What a command drew gets its rank, and fences stand nowhere but in their counters.
    fn settle_fences(&self, before: &Keyspace, executed: &mut Executed) {
        if self.scale.is_none() || !self.rules.keys.has_fences() {
            return;
        }
        let mut strays = false;
        for entry in &mut executed.after.entries {
            if self.rules.role(&entry.key) != Role::Fence {
                entry.renamed(&mut |text| {
                    strays |= fences::ranks(text).next().is_some();
                    text.to_vec()
                });
                continue;
            }
            let Value::String(text) = &mut entry.value else {
                continue;
            };
            if fences::is_drawn(text) {
                let known = before.entries.iter().any(|known| known.key == entry.key);
                executed.drew = Some(if known { Draw::Highest } else { Draw::First });
                *text = fences::settled(text);
            }
        }
        if executed.drew.is_some() {
            for reply in &mut executed.replies {
                *reply = symbols::map_reply(reply, &mut |text| fences::settled(text));
            }
        }
        if strays {
            refuse(
                executed,
                RefusalKind::Names,
                "writes the value of a fence into another key, where the model does not follow it"
                    .into(),
            );
        }
    }
}

fn refuse(executed: &mut Executed, kind: RefusalKind, what: String) {
    if executed.refusal.is_none() {
        executed.refusal = Some((Refusal::new(kind, what), false));
    }
}

fn elements(value: &Value) -> Vec<&Bytes> {
    match value {
        Value::String(_) | Value::List(_) => Vec::new(),
        Value::Hash(hash) => hash.keys().collect(),
        Value::Set(set) => set.iter().collect(),
        Value::SortedSet(set) => set.ranked().into_iter().map(|(m, _)| m).collect(),
    }
}
