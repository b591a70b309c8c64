//! What a command makes of a keyspace, and whose hold it touches.

use std::collections::{BTreeMap, VecDeque};

use lockproof_lua::text::{self, Span, Symbol};
use lockproof_lua::{Refusal, RefusalKind, Scale};
use lockproof_redis::{
    self as redis, Bytes, Notes, Reply, Score, ScriptEngine, Server, Value, Write,
};

use crate::lock::Role;

use super::counts::{self, number};
use super::fences::{self, Draw};
use super::node::{CANONICAL_PRESENT, Entry, KeyRules, Keyspace, Writers};
use super::owners::{Author, Owners, Sender};
use super::scripts::Scripts;
use super::stamps;
use super::symbols;

/// A counter that a command moves below its negative, or a score that is moved beyond it, is
/// taken to grow for ever. Of a count that is moved above it is known how high it is at least.
const COUNTER_MAX: i64 = text::MANY as i64 - 1;

/// More elements of one key than these, or more keys, are taken to grow for ever.
const ELEMENTS_MAX: usize = 16;

/// A text that grows beyond so many bytes is taken to grow for ever.
const TEXT_MAX: usize = 512;

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
        let client = author.client;
        let (server, reply, notes) = self.run(before, client, argv, run);
        // In another order a script may go further: list more, and compare more times.
        let (mut orders, mut opened) = (notes.orders, notes.opened);
        let mut executed = self.judge(before, &server, author, reply, notes);
        let mut order = 0;
        while order + 1 < orders {
            order += 1;
            let (other, reply, notes) = self.run(before, client, argv, Run { order, ..run });
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
        client: u8,
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
        let mut reply = server.execute(self.scripts, u32::from(client), argv);
        if self.scale.is_some() {
            reply = stamps::keep(&mut server, client, argv, reply);
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

    /// What the model has of messages: texts that name nothing, on one channel at a time.
    fn examine_messages(&self, executed: &mut Executed) {
        if self.scale.is_none() {
            return;
        }
        let published = &executed.published;
        let several = published.iter().any(|(on, _)| *on != published[0].0);
        let names = |text: &Bytes| text.contains(&text::MARK);
        let what = if published.iter().any(|(on, said)| names(on) || names(said)) {
            "publishes a token, an owner or a time, which the model does not follow"
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
        executed.effect.leased |= anew && counts(role);
        let Some(known) = known else {
            if let Some((kind, what)) = redis::no_name(&entry.key).filter(|_| self.scale.is_some())
            {
                refuse(executed, kind, what.into());
            }
            executed.effect.created |= role != Role::Queue;
            executed.effect.wrote |= counts(role);
            return;
        };
        if let Some(key) = counter_ran_away(known, entry) {
            executed.overflow = Some(key);
        }
        executed.effect.wrote |= written && counts(role);
        if role == Role::Queue {
            return;
        }
        let (gone, over) = touched(known, entry, &notes.written, author);
        executed.effect.victims |= gone & !author.bit();
        executed.effect.deleted |= gone & author.bit() != 0;
        executed.effect.overwritten |= over;
        if lasts {
            executed.effect.victims |= expiry_victims(known, entry, author, self.step_ms());
            executed.effect.wrote |= own && counts(role);
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

/// What is written there can be the lock.
fn counts(role: Role) -> bool {
    matches!(role, Role::Lock)
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

/// Who wrote what, afterwards.
fn writers(
    known: Option<&Entry>,
    value: &Value,
    written: &[Write],
    key: &Bytes,
    author: Author,
) -> Writers {
    let wrote = |element: Option<&Bytes>| {
        written
            .iter()
            .any(|place| place.key == *key && place.element.as_ref() == element)
    };
    match value {
        Value::String(_) => match known.map(|known| &known.writers) {
            Some(Writers::One(owners)) if !wrote(None) => Writers::One(*owners),
            Some(Writers::One(owners)) => Writers::One(Owners::written(Some(*owners), author)),
            _ => Writers::One(Owners::written(None, author)),
        },
        Value::List(list) => {
            let Some((Value::List(old), Writers::Items(writers))) =
                known.map(|known| (&known.value, &known.writers))
            else {
                return Writers::Items(vec![Owners::written(None, author); list.len()]);
            };
            let kept = kept(old, list).into_iter();
            Writers::Items(
                kept.map(|old| old.map_or(Owners::written(None, author), |at| writers[at]))
                    .collect(),
            )
        }
        collection => {
            let old = match known.map(|known| &known.writers) {
                Some(Writers::Each(each)) => each.clone(),
                _ => BTreeMap::new(),
            };
            let owner = |element: &Bytes| match old.get(element) {
                Some(owners) if !wrote(Some(element)) => *owners,
                old => Owners::written(old.copied(), author),
            };
            let all = elements(collection).into_iter();
            Writers::Each(
                all.map(|element| (element.clone(), owner(element)))
                    .collect(),
            )
        }
    }
}

/// Where each item of a list was before, if it was there: commands take items away
/// and put new ones at the ends.
fn kept(old: &VecDeque<Bytes>, new: &VecDeque<Bytes>) -> Vec<Option<usize>> {
    let find = |from: usize, item: &Bytes| {
        let offset = old.iter().skip(from).position(|known| known == item);
        offset.map(|offset| from + offset)
    };
    let common = |fresh: usize| {
        let mut from = 0;
        let stayed = new.iter().skip(fresh).map_while(|item| {
            from = find(from, item)? + 1;
            Some(())
        });
        stayed.count()
    };
    // The beginning of the new list that was not there before.
    let fresh = (0..=new.len())
        .max_by_key(|fresh| (common(*fresh), usize::MAX - fresh))
        .unwrap_or(0);
    let mut from = 0;
    let stayed = new.iter().skip(fresh).map(|item| {
        let at = find(from, item)?;
        from = at + 1;
        Some(at)
    });
    std::iter::repeat_n(None, fresh).chain(stayed).collect()
}

/// Clients (bit sets) whose element is gone, and others whose element was written over. A
/// counter is there for all to count, so counting alone is no writing over.
fn touched(known: &Entry, entry: &Entry, written: &[Write], author: Author) -> (u8, u8) {
    let here = || written.iter().filter(|write| write.key == entry.key);
    let counts = here().all(|write| write.counts);
    let wrote =
        |element: Option<&Bytes>| !counts && here().any(|write| write.element.as_ref() == element);
    match (&known.writers, &entry.writers) {
        (Writers::One(old), Writers::One(_)) => match wrote(None) {
            true => (0, old.overwritten(author)),
            false => (0, 0),
        },
        (Writers::Each(old), Writers::Each(new)) => {
            let gone = old
                .iter()
                .filter(|(element, _)| !new.contains_key(*element));
            let over = old.iter().filter(|(element, _)| wrote(Some(element)));
            let gone = gone.fold(0, |set, (_, owners)| set | owners.set());
            let over = over.fold(0, |set, (_, owners)| set | owners.overwritten(author));
            (gone, over)
        }
        (Writers::Items(old), Writers::Items(_)) => {
            let (Value::List(before), Value::List(after)) = (&known.value, &entry.value) else {
                return (known.writers.set(), 0);
            };
            let kept = kept(before, after);
            let gone = (0..old.len()).filter(|at| !kept.contains(&Some(*at)));
            (gone.fold(0, |set, at| set | old[at].set()), 0)
        }
        // Another type stands there now.
        (old, _) => (old.set(), 0),
    }
}

/// Others whose hold a change of the expiry shortens or prolongs. Who shares a
/// collection, or a text with other readers, prolongs it for all; nobody may shorten it.
fn expiry_victims(known: &Entry, entry: &Entry, author: Author, step_ms: i64) -> u8 {
    let others = known.writers.set() & !author.bit();
    let shares = match author.sender {
        Sender::LeavingReader => known.writers.set() | entry.writers.set(),
        Sender::Alone | Sender::Reader => entry.writers.set(),
    };
    let own = shares & author.bit() != 0;
    let shared = own
        && match entry.writers {
            Writers::One(owners) => owners.is_shared(),
            Writers::Each(_) | Writers::Items(_) => true,
        };
    let longer = match (known.life, entry.life) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(old), Some(new)) => new.value(step_ms) >= old.value(step_ms),
    };
    if shared && longer { 0 } else { others }
}

/// More than a lock's state has: somebody goes on adding to it.
fn has_grown(before: Option<&Entry>, after: &Entry) -> bool {
    match (&after.value, before.map(|before| &before.value)) {
        (Value::String(new), Some(Value::String(old))) => {
            new.len() > TEXT_MAX && new.len() > old.len()
        }
        (Value::String(_), _) => false,
        (Value::List(list), _) => list.len() > ELEMENTS_MAX,
        (collection, _) => elements(collection).len() > ELEMENTS_MAX,
    }
}

/// The counter that moved, and was not set, beyond the bound. One that is told only by how
/// high it is at least did not.
fn counter_ran_away(before: &Entry, after: &Entry) -> Option<String> {
    let moved = |a: Option<i64>, b: Option<i64>| match (a, b) {
        (Some(a), Some(b)) => a != b && b.abs() > COUNTER_MAX && (a - b).abs() <= COUNTER_MAX,
        _ => false,
    };
    let ran = match (&before.value, &after.value) {
        (Value::String(a), Value::String(b)) => moved(number(a), number(b)),
        (Value::Hash(a), Value::Hash(b)) => b
            .iter()
            .any(|(field, value)| moved(a.get(field).and_then(|v| number(v)), number(value))),
        (Value::SortedSet(a), Value::SortedSet(b)) => b.ranked().iter().any(|(member, score)| {
            let whole = |score: Score| match score {
                Score::Number(score) if score.fract() == 0.0 => Some(score as i64),
                Score::Number(_) | Score::Stamp(_) => None,
            };
            moved(a.score(member).and_then(whole), whole(*score))
        }),
        _ => false,
    };
    ran.then(|| text::printable(&after.key))
}

/// A stamp of this distance is not kept exactly.
fn is_stale_span(span: Span, scale: Scale) -> bool {
    let ms = span.value(scale.step_ms);
    ms <= -scale.horizon_ms / 2 || ms >= scale.horizon_ms
}

/// A score that is written; one that is far back already is that for ever, and no more is
/// known of it.
fn is_stale(score: Score, scale: Scale) -> bool {
    match score {
        Score::Stamp(Symbol::Time(span, _)) => is_stale_span(span, scale),
        Score::Stamp(Symbol::Far(far)) => far.future,
        Score::Stamp(_) | Score::Number(_) => false,
    }
}

/// Stamps that are written must be fresh, and where they are told by their place
/// they must have been there: otherwise two of them could be taken for one.
fn stale_stamps(executed: &mut Executed, written: &[Write], scale: Scale) {
    let (mut found, mut scored) = (false, false);
    for entry in &executed.after.entries {
        let mut look = |text: &[u8], element: &[u8], place: Option<&Bytes>| {
            let wrote = written
                .iter()
                .any(|p| p.key == entry.key && (p.element.as_ref() == place || place.is_none()));
            let here = symbols::place(&entry.key, element);
            found |= text::symbols(text).any(|symbol| match symbol {
                Symbol::Far(far) => far.future || far.place != here || far.node != 0,
                Symbol::Time(span, _) => wrote && is_stale_span(span, scale),
                _ => false,
            });
        };
        match &entry.value {
            Value::String(text) => look(text, b"", None),
            Value::Hash(hash) => {
                for (field, text) in hash {
                    look(text, field, Some(field));
                }
            }
            Value::List(list) => {
                for (index, item) in list.iter().enumerate() {
                    look(item, index.to_string().as_bytes(), Some(item));
                }
            }
            Value::Set(_) => {}
            Value::SortedSet(set) => {
                for (member, score) in set.ranked() {
                    let write = |place: &&Write| {
                        place.key == entry.key && place.element.as_ref() == Some(member)
                    };
                    let wrote = written.iter().any(|place| write(&place));
                    scored |= wrote && is_stale(score, scale);
                }
            }
        }
    }
    if found | scored {
        refuse(
            executed,
            RefusalKind::Horizon,
            "stores a time that lies so far back, or ahead, that the model does not keep it".into(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept_of(old: &[&str], new: &[&str]) -> Vec<Option<usize>> {
        let list = |items: &[&str]| items.iter().map(|item| item.as_bytes().to_vec()).collect();
        kept(&list(old), &list(new))
    }

    #[test]
    fn an_item_in_front_of_an_equal_one_is_new() {
        assert_eq!(
            kept_of(&["a", "b"], &["b", "a", "b"]),
            [None, Some(0), Some(1)]
        );
    }

    #[test]
    fn what_is_behind_an_item_that_was_taken_away_stays() {
        assert_eq!(kept_of(&["a", "b"], &["b"]), [Some(1)]);
        assert_eq!(kept_of(&["a", "b", "a"], &["b", "a"]), [Some(1), Some(2)]);
        assert_eq!(kept_of(&["a"], &["a", "b"]), [Some(0), None]);
        assert_eq!(kept_of(&[], &["a"]), [None]);
    }
}
