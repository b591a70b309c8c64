//! The state of a server, and nothing else: the handlers are by type.
//!
//! Time is a number that only the caller moves, and may move backwards. A key
//! whose time has passed is dropped at the moment the clock moves, not when
//! somebody looks: otherwise two servers that no client can tell apart would
//! be different states. A real server drops such a key when it is next touched,
//! or when its background cycle (ten times a second) finds it; a clock that
//! jumps forward and back between two of those moments could show the key
//! again. The model takes the background cycle to be faster than the jump.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockproof_lua::Scale;
use lockproof_lua::text::Span;

use super::engine::{ScriptEngine, Sha};
use super::notes::{Notes, Write};
use super::refusal::Refusal;
use super::transactions::{Transactions, Watched};
use super::value::{Kind, Value};
use super::{Bytes, Reply, command};

/// Whose behaviour the model follows where servers differ. The differences are
/// listed, with an example and each server's reply, in the table
/// `DIFFERENCES` of `tests/differential/redis/corpus.rs`, which is itself tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// Redis 7.0, what Debian 12 installs. The default.
    #[default]
    Redis70,
    /// Redis 8.2: shortest floats, WAIT is allowed in scripts.
    Redis82,
    /// Valkey 9: as Redis 8.2, with DELIFEQ and SET IFEQ, other error texts.
    Valkey9,
}

/// A message on its way to a subscriber.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Published {
    /// The connection that subscribed.
    pub connection: u32,
    /// The channel it was published on.
    pub channel: Bytes,
    /// What was published.
    pub payload: Bytes,
}

/// The end of a key's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Expiry {
    /// The last ms at which the key is there.
    pub at_ms: i64,
    /// How many of the ms until then came from ticks (see [`Span`]).
    pub ticks: i32,
}

/// A key's value and the end of its life.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Entry {
    value: Value,
    /// `None`: for ever.
    end: Option<Expiry>,
}

/// What a caller lends a server and takes back; no part of its state.
#[derive(Clone, Debug, Default)]
struct Watch {
    scale: Option<Scale>,
    present_ms: i64,
    order: u32,
    answers: u32,
    listeners: Option<u32>,
    fences: Vec<Bytes>,
    notes: Notes,
}

/// All watches are equal: two servers are told apart by what they hold.
impl PartialEq for Watch {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Watch {}

impl PartialOrd for Watch {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Watch {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl std::hash::Hash for Watch {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

/// A Redis server: plain data, compared and hashed by value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Server {
    dialect: Dialect,
    now_ms: i64,
    lacks_replicas: bool,
    keys: BTreeMap<Bytes, Entry>,
    scripts: BTreeMap<Sha, Arc<[u8]>>,
    subscriptions: BTreeMap<Bytes, BTreeSet<u32>>,
    messages: Vec<Published>,
    transactions: Transactions,
    watch: Watch,
}

impl Server {
    /// An empty Redis 7.0 server whose clock stands at `now_ms` (ms since 1970).
    pub fn new(now_ms: i64) -> Self {
        Self {
            now_ms,
            ..Self::default()
        }
    }

    /// The same server speaking another dialect.
    #[must_use]
    pub fn with_dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// Whose behaviour this server follows.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Whether fewer replicas are in touch than `min-replicas-to-write` asks for:
    /// then commands that write are refused, also those that would change nothing,
    /// and scripts at their first one (Redis manual, Replication; redis.conf).
    pub fn set_lacks_replicas(&mut self, lacks: bool) {
        self.lacks_replicas = lacks;
    }

    /// See [`Server::set_lacks_replicas`].
    pub(super) fn lacks_replicas(&self) -> bool {
        self.lacks_replicas
    }

    /// Makes it a server of a model: texts have symbols in them, which tell times
    /// by `present_ms`, and times are measured like this.
    pub fn set_scale(&mut self, scale: Scale, present_ms: i64) {
        self.watch.scale = Some(scale);
        self.watch.present_ms = present_ms;
    }

    pub(super) fn present_ms(&self) -> i64 {
        self.watch.present_ms
    }

    /// See [`Server::set_scale`].
    pub fn scale(&self) -> Option<Scale> {
        self.watch.scale
    }

    /// Where nobody promises an order (the fields of a hash, a table in a script),
    /// takes this one of the [`Notes::orders`] possible ones.
    pub fn set_order(&mut self, order: u32) {
        self.watch.order = order;
    }

    /// See [`Server::set_order`].
    pub(super) fn order(&self) -> u32 {
        self.watch.order
    }

    /// Where a script or a command compares times of a model and the answer depends on what happens
    /// between two ticks, it comes out as if everything happened at ticks; but the
    /// other way round where this has a bit, the first such comparison by the least
    /// one. [`Notes::opened`] counts them.
    pub fn set_answers(&mut self, answers: u32) {
        self.watch.answers = answers;
    }

    /// See [`Server::set_answers`].
    pub(super) fn answers(&self) -> u32 {
        self.watch.answers
    }

    /// The caller keeps the subscriptions: so many connections listen to whatever is
    /// published. The messages are told in [`Notes::published`], and nowhere else.
    pub fn set_listeners(&mut self, listeners: u32) {
        self.watch.listeners = Some(listeners);
    }

    /// In a model these keys are counters of fences, told by ranks.
    pub fn set_fences(&mut self, fences: Vec<Bytes>) {
        self.watch.fences = fences;
    }

    pub(super) fn is_fence(&self, key: &Bytes) -> bool {
        self.watch.fences.contains(key)
    }

    /// What was noticed since the last call.
    pub fn take_notes(&mut self) -> Notes {
        std::mem::take(&mut self.watch.notes)
    }

    pub(super) fn notes_mut(&mut self) -> &mut Notes {
        &mut self.watch.notes
    }

    /// A value was written, also over an equal one.
    pub(super) fn wrote(&mut self, key: &Bytes, element: Option<&Bytes>) {
        self.note_write(key, element, false);
    }

    /// A number was counted up or down.
    pub(super) fn counted(&mut self, key: &Bytes, element: Option<&Bytes>) {
        self.note_write(key, element, true);
    }

    pub(super) fn note_write(&mut self, key: &Bytes, element: Option<&Bytes>, counts: bool) {
        self.watch.notes.written.push(Write {
            key: key.clone(),
            element: element.cloned(),
            counts,
        });
    }

    /// Executes one command and gives its reply; whatever is wrong with the
    /// command is in the reply. `connection` identifies the sender for
    /// subscriptions: a connection that has subscribed may send little else,
    /// as in Redis.
    ///
    /// SUBSCRIBE and UNSUBSCRIBE of several channels give all confirmations in
    /// one array; a real server sends them one after the other.
    pub fn execute(
        &mut self,
        scripts: &mut ScriptEngine,
        connection: u32,
        argv: &[Bytes],
    ) -> Reply {
        let watched: Vec<_> = self.transactions.watched().into_iter().collect();
        if watched.is_empty() {
            return command::dispatch(self, scripts, connection, argv);
        }
        let before = watched.iter().map(|key| self.keys.get(key).cloned());
        let before: Vec<_> = before.collect();
        let notes = &self.watch.notes;
        let (written, expiries) = (notes.written.len(), notes.expiries.len());
        let reply = command::dispatch(self, scripts, connection, argv);
        let notes = &self.watch.notes;
        let written = notes.written[written..].iter().map(|write| &write.key);
        let touched: BTreeSet<_> = written.chain(&notes.expiries[expiries..]).collect();
        for (key, before) in watched.iter().zip(before) {
            if touched.contains(key) || self.keys.get(key) != before.as_ref() {
                self.transactions.touch(key);
            }
        }
        reply
    }

    /// A command acted on the key and may have left it as it was.
    pub(super) fn touch(&mut self, key: &[u8]) {
        self.transactions.touch(key);
    }

    pub(super) fn transactions(&self) -> &Transactions {
        &self.transactions
    }

    pub(super) fn transactions_mut(&mut self) -> &mut Transactions {
        &mut self.transactions
    }

    /// Who watches what, by connection, in order.
    pub fn watches(&self) -> impl Iterator<Item = (u32, &Watched)> {
        let watches = self.transactions.watches.iter();
        watches.map(|(connection, watched)| (*connection, watched))
    }

    /// Lets a connection watch this and nothing else.
    pub fn insert_watch(&mut self, connection: u32, watched: Watched) {
        self.transactions.watches.insert(connection, watched);
    }

    /// The clock in ms since 1970.
    pub fn now_ms(&self) -> i64 {
        self.now_ms
    }

    /// Sets the clock; keys whose time has passed are gone.
    pub fn set_clock(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
        let transactions = &mut self.transactions;
        self.keys.retain(|key, entry| {
            let stays = !expired(entry, now_ms);
            if !stays {
                transactions.touch(key);
            }
            stays
        });
    }

    /// Moves the clock by this many ms, which may be negative.
    pub fn advance(&mut self, ms: i64) {
        self.set_clock(self.now_ms.saturating_add(ms));
    }

    /// The live keys in order: key, value, last ms of its life.
    pub fn entries(&self) -> impl Iterator<Item = (&Bytes, &Value, Option<Expiry>)> {
        self.keys
            .iter()
            .map(|(key, entry)| (key, &entry.value, entry.end))
    }

    /// Replaces the value of every key, its names aside.
    pub fn map_values(&mut self, mut f: impl FnMut(&Value) -> Value) {
        for entry in self.keys.values_mut() {
            entry.value = f(&entry.value);
        }
    }

    /// How long a key that ends then still lives.
    pub fn life(&self, end: Expiry) -> Span {
        let step_ms = self.watch.scale.map_or(0, |scale| scale.step_ms);
        Span {
            ms: end.at_ms - self.now_ms - i64::from(end.ticks) * step_ms,
            ticks: end.ticks,
        }
    }

    /// The end of a life of so long from now.
    pub fn end_of(&self, life: Span) -> Expiry {
        let step_ms = self.watch.scale.map_or(0, |scale| scale.step_ms);
        Expiry {
            at_ms: self.now_ms.saturating_add(life.value(step_ms)),
            ticks: life.ticks,
        }
    }

    /// Puts a key there as it is; what is empty or past its time is not kept.
    pub fn insert(&mut self, key: Bytes, value: Value, end: Option<Expiry>) {
        let entry = Entry { value, end };
        if expired(&entry, self.now_ms) || entry.value.is_empty_collection() {
            self.keys.remove(&key);
        } else {
            self.keys.insert(key, entry);
        }
    }

    /// Removes a key; whether it was there.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        self.keys.remove(key).is_some()
    }

    /// Removes all keys, as FLUSHALL does.
    pub fn clear(&mut self) {
        self.keys.clear();
    }

    /// Lets a connection listen on a channel, as SUBSCRIBE does.
    pub fn subscribe(&mut self, connection: u32, channel: Bytes) {
        self.subscriptions
            .entry(channel)
            .or_default()
            .insert(connection);
    }

    /// Ends a subscription, as UNSUBSCRIBE does.
    pub fn unsubscribe(&mut self, connection: u32, channel: &[u8]) {
        if let Some(listeners) = self.subscriptions.get_mut(channel) {
            listeners.remove(&connection);
            if listeners.is_empty() {
                self.subscriptions.remove(channel);
            }
        }
    }

    /// Ends all subscriptions of a connection, its watches and its transaction, as its
    /// closing does, and drops the messages that it has not read.
    pub fn disconnect(&mut self, connection: u32) {
        self.subscriptions.retain(|_, listeners| {
            listeners.remove(&connection);
            !listeners.is_empty()
        });
        self.messages.retain(|m| m.connection != connection);
        self.transactions.disconnect(connection);
    }

    /// The subscriptions in order: channel, connection.
    pub fn subscriptions(&self) -> impl Iterator<Item = (&Bytes, u32)> {
        self.subscriptions
            .iter()
            .flat_map(|(channel, all)| all.iter().map(move |connection| (channel, *connection)))
    }

    /// The channels of one connection, in order.
    pub fn channels_of(&self, connection: u32) -> Vec<Bytes> {
        self.subscriptions()
            .filter(|(_, listener)| *listener == connection)
            .map(|(channel, _)| channel.clone())
            .collect()
    }

    /// Takes the messages that were published since the last call, in order;
    /// one published message is one entry a subscriber.
    pub fn take_messages(&mut self) -> Vec<Published> {
        std::mem::take(&mut self.messages)
    }

    /// Sends a message to whoever listens; how many do.
    pub(super) fn publish(&mut self, channel: &Bytes, payload: &Bytes) -> usize {
        if let Some(listeners) = self.watch.listeners {
            let message = (channel.clone(), payload.clone());
            self.watch.notes.published.push(message);
            return listeners as usize;
        }
        let Some(listeners) = self.subscriptions.get(channel) else {
            return 0;
        };
        self.messages
            .extend(listeners.iter().map(|connection| Published {
                connection: *connection,
                channel: channel.clone(),
                payload: payload.clone(),
            }));
        listeners.len()
    }

    /// Remembers a script, as EVAL and SCRIPT LOAD do.
    pub(super) fn remember_script(&mut self, sha: Sha, source: &[u8]) {
        self.scripts.entry(sha).or_insert_with(|| source.into());
    }

    /// The texts of the scripts that it knows, in the order of their SHA-1.
    pub fn scripts(&self) -> impl Iterator<Item = &Arc<[u8]>> {
        self.scripts.values()
    }

    /// Lets it know a script, as SCRIPT LOAD does.
    pub fn insert_script(&mut self, source: &[u8]) {
        self.remember_script(Sha::of(source), source);
    }

    /// The script with this SHA-1.
    pub(super) fn script(&self, sha: &Sha) -> Option<Arc<[u8]>> {
        self.scripts.get(sha).cloned()
    }

    /// Forgets all scripts, as SCRIPT FLUSH and a restart do.
    pub fn forget_scripts(&mut self) {
        self.scripts.clear();
    }

    /// Whether the key is there.
    pub(super) fn contains(&self, key: &[u8]) -> bool {
        self.keys.contains_key(key)
    }

    /// The value of a key.
    pub(super) fn value(&self, key: &[u8]) -> Option<&Value> {
        self.keys.get(key).map(|entry| &entry.value)
    }

    /// A key's value of one type; other types are refused.
    pub(super) fn get<K: Kind>(&self, key: &[u8]) -> Result<Option<&K>, Refusal> {
        match self.keys.get(key) {
            None => Ok(None),
            Some(entry) => K::of(&entry.value).map(Some).ok_or(Refusal::WrongType),
        }
    }

    /// How much a command may have to look through: the values of the keys among its
    /// words, or all keys if it names none.
    pub(super) fn work_on(&self, argv: &[Bytes]) -> u64 {
        let named = argv.iter().skip(1).filter_map(|word| self.keys.get(word));
        let mut work = 0;
        let mut keys = 0;
        for entry in named {
            work += entry.value.weight();
            keys += 1;
        }
        if keys == 0 {
            self.keys.len() as u64 / 4
        } else {
            work
        }
    }

    /// Changes a key's value of one type, which keeps its expiry. A missing key
    /// begins as `create`, or nothing happens (`None`) if that is `None`; a
    /// collection that is empty afterwards is removed with its key.
    pub(super) fn edit<K: Kind, T>(
        &mut self,
        key: &[u8],
        create: Option<K>,
        change: impl FnOnce(&mut K) -> Result<T, Refusal>,
    ) -> Result<Option<T>, Refusal> {
        if !self.keys.contains_key(key) {
            let Some(fresh) = create else {
                return Ok(None);
            };
            let entry = Entry {
                value: fresh.into_value(),
                end: None,
            };
            self.keys.insert(key.to_vec(), entry);
        }
        let Some(entry) = self.keys.get_mut(key) else {
            return Ok(None);
        };
        let result = K::of_mut(&mut entry.value)
            .ok_or(Refusal::WrongType)
            .and_then(change);
        if entry.value.is_empty_collection() {
            self.keys.remove(key);
        }
        result.map(Some)
    }

    /// The end of a key's life: `None` no such key, `Some(None)` for ever.
    pub(super) fn expiry(&self, key: &[u8]) -> Option<Option<Expiry>> {
        self.keys.get(key).map(|entry| entry.end)
    }

    /// Sets or removes the expiry of a key that is there, and notes a set one.
    pub(super) fn set_expiry(&mut self, key: &[u8], end: Option<Expiry>) {
        if let Some(entry) = self.keys.get_mut(key) {
            entry.end = end;
            if end.is_some() {
                self.watch.notes.expiries.push(key.to_vec());
            }
        }
    }
}

/// The comparison is Redis's own: a key is still there in the ms it expires at.
fn expired(entry: &Entry, now_ms: i64) -> bool {
    entry.end.is_some_and(|end| now_ms > end.at_ms)
}
