//! The names that a lock file sees, and what happens when it says them.
//!
//! Words that make a thread wait, or that ask the driver for something, stop the
//! run ([`lockproof_lua::Flow::Wait`]); `ask.rs` answers them. The others answer at once.

use std::sync::Arc;

use lockproof_input::nearest;
use lockproof_lua::text::{Reading, Text};
use lockproof_lua::{
    Clock, Code, Flow, Host, Key, Machine, Moment, Native, RefusalKind, Returned, Stop, Table,
    TableId, Time, Value, Vm, library,
};

use super::banned::BANNED;
use super::error::LockError;
use super::registry::SCRIPTS;
use super::shape::{FIELDS, OPERATIONS};
use super::types::Mode;

/// What a lock file asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Word {
    Redis,
    Script,
    Evalsha,
    ScriptLoad,
    Multi,
    Sleep,
    Random,
    Wait,
    Subscribe,
    Unsubscribe,
    Spawn,
    Every,
    Stop,
    Error,
    Held,
    Busy,
    Failed,
    Lost,
    Assert,
    // From here on, answered at once.
    Now,
    Monotonic,
    Time,
    On,
    Pairs,
    /// Behind the global names.
    Undeclared,
    /// Behind a locked table: the node of the native says which.
    Missing,
    /// Writing to a global name, or to a locked table.
    Assign,
}

impl Word {
    /// The names that a lock file says, in the order of their numbers.
    pub const NAMED: [(Word, &'static str); 24] = [
        (Word::Redis, "redis"),
        (Word::Script, "script"),
        (Word::Evalsha, "evalsha"),
        (Word::ScriptLoad, "script_load"),
        (Word::Multi, "multi"),
        (Word::Sleep, "sleep"),
        (Word::Random, "random"),
        (Word::Wait, "wait"),
        (Word::Subscribe, "subscribe"),
        (Word::Unsubscribe, "unsubscribe"),
        (Word::Spawn, "spawn"),
        (Word::Every, "every"),
        (Word::Stop, "stop"),
        (Word::Error, "error"),
        (Word::Held, "held"),
        (Word::Busy, "busy"),
        (Word::Failed, "failed"),
        (Word::Lost, "lost"),
        (Word::Assert, "assert_"),
        (Word::Now, "now"),
        (Word::Monotonic, "monotonic"),
        (Word::Time, "time"),
        (Word::On, "on"),
        (Word::Pairs, "pairs"),
    ];

    fn native(self) -> Native {
        Native::plain(library::HOST + self as u16)
    }

    /// The word that a host function is.
    pub fn of(native: Native) -> Option<Word> {
        let id = native.id.checked_sub(library::HOST)?;
        let hidden = [Word::Undeclared, Word::Missing, Word::Assign];
        let named = Word::NAMED.iter().map(|(word, _)| *word);
        named.chain(hidden).find(|word| *word as u16 == id)
    }

    /// What a lock file calls it.
    pub fn name(self) -> &'static str {
        let found = Word::NAMED.iter().find(|(word, _)| *word == self);
        found.map_or("", |(_, name)| name)
    }
}

/// Names of Lua's own that a lock file has.
const BASE: [&str; 6] = ["ipairs", "select", "tonumber", "tostring", "type", "unpack"];
/// Not in the libraries: hidden state, or of no use.
const WITHOUT: [&str; 5] = ["gmatch", "foreach", "foreachi", "getn", "maxn"];
/// Locked tables, by the number of their guard.
const READ_ONLY: [&str; 6] = [
    "string",
    "table",
    "math",
    "lock",
    "lock.params",
    "lock.nodes",
];

/// A machine with all names but `lock`, for a compiled file.
pub(crate) fn furnish(code: Arc<Code>) -> Machine {
    let mut machine = Machine::new(code);
    for name in BASE {
        if let Some(native) = library::native("", name) {
            machine.set_global(name, Value::Native(native));
        }
    }
    for (word, name) in Word::NAMED {
        machine.set_global(name, Value::Native(word.native()));
    }
    for name in ["string", "table", "math"] {
        let table = library::table(&mut machine.heap, name, &WITHOUT);
        if name == "string" {
            // Methods of a text are looked up behind the guard's back.
            let methods = machine.heap.get(table).clone();
            machine.text_methods = machine.heap.table(methods);
        }
        lock(&mut machine, table, name);
        machine.set_global(name, Value::Table(table));
    }
    let globals = machine.globals;
    let guard = guard(&mut machine, Word::Undeclared, 0);
    if let Some(table) = machine.heap.get_mut(globals) {
        table.meta = Some(guard);
        table.locked = true;
    }
    machine.strict_times = true;
    machine
}

fn guard(machine: &mut Machine, word: Word, number: u16) -> TableId {
    let native = |word: Word| {
        Value::Native(Native {
            node: number,
            ..word.native()
        })
    };
    let mut meta = Table::default();
    meta.set(Key::Text(Text::from("__index")), native(word));
    meta.set(Key::Text(Text::from("__newindex")), native(Word::Assign));
    machine.heap.table(meta)
}

/// Makes a table one that may only be read, and whose missing fields are errors.
fn lock(machine: &mut Machine, table: TableId, name: &str) {
    let number = READ_ONLY
        .iter()
        .position(|known| *known == name)
        .unwrap_or(0);
    let meta = guard(machine, Word::Missing, number as u16 + 1);
    if let Some(table) = machine.heap.get_mut(table) {
        table.meta = Some(meta);
        table.locked = true;
    }
}

/// The `lock` that operations get; its token and mode are asked for when they are read.
pub(crate) fn lock_table(machine: &mut Machine, fields: LockFields<'_>) -> Value {
    let mut params = Table::default();
    for (name, value) in &fields.params {
        params.set(Key::Text(Text::from(name.as_str())), Value::Number(*value));
    }
    let nodes = Table {
        list: (1..=fields.nodes)
            .map(|node| Value::Number(f64::from(node)))
            .collect(),
        ..Table::default()
    };
    let (params, nodes) = (machine.heap.table(params), machine.heap.table(nodes));
    lock(machine, params, "lock.params");
    lock(machine, nodes, "lock.nodes");
    let mut table = Table::default();
    let mut set = |name: &str, value: Value| table.set(Key::Text(Text::from(name)), value);
    set("key", Value::text(fields.key));
    set("owner", Value::Text(fields.owner));
    set("ttl", Value::Number(fields.ttl_ms as f64));
    set("params", Value::Table(params));
    set("nodes", Value::Table(nodes));
    let table = machine.heap.table(table);
    lock(machine, table, "lock");
    Value::Table(table)
}

/// What [`lock_table`] is made of.
pub(crate) struct LockFields<'a> {
    pub key: &'a str,
    pub owner: Text,
    pub ttl_ms: i64,
    pub nodes: u8,
    pub params: Vec<(String, f64)>,
}

/// All names that a lock file may use: the words, the fields of its table and
/// the built-in scripts, each group in alphabetical order. The guide explains
/// each of them.
///
/// # Errors
/// None today.
pub fn vocabulary() -> Result<Vec<String>, LockError> {
    let named = Word::NAMED.iter().map(|(_, name)| (*name).to_owned());
    let mut words: Vec<String> = named
        .chain(BASE.map(str::to_owned))
        .chain(["string", "table", "math", "self"].map(str::to_owned))
        .collect();
    words.sort();
    let fields = FIELDS
        .iter()
        .chain(&OPERATIONS)
        .map(|name| name.to_string());
    let scripts = SCRIPTS.iter().map(|script| script.name.to_string());
    Ok(words.into_iter().chain(fields).chain(scripts).collect())
}

/// What words that answer at once need of a client.
pub(crate) struct ClientHost {
    /// `lock.token`; `None` while the file is loaded, and before the first attempt.
    pub token: Option<Text>,
    /// `lock.mode`.
    pub mode: Mode,
    /// `self`.
    pub handle: Option<TableId>,
}

impl Host for ClientHost {
    fn call(&mut self, vm: &mut Vm<'_>, native: Native, args: Vec<Value>) -> Result<Flow, Stop> {
        let values = match Word::of(native) {
            Some(Word::Now) => self.read(vm, Clock::Wall),
            Some(Word::Monotonic) => self.read(vm, Clock::Monotonic),
            Some(Word::Time) => time(vm, &args),
            Some(Word::On) => on(vm, &args),
            Some(Word::Pairs) => {
                let table = vm.table_arg(&args, 1)?;
                let step = library::native("", "(pairs)").map_or(Value::Nil, Value::Native);
                Ok(vec![step, Value::Table(table), Value::Nil])
            }
            Some(Word::Undeclared) => self.undeclared(vm, &args),
            Some(Word::Missing) => self.missing(vm, native, &args),
            Some(Word::Assign) => Err(assigned(vm, native, &args)),
            _ => return Ok(Flow::Wait(native, args)),
        };
        values.map(Flow::Give)
    }
}

impl ClientHost {
    fn read(&self, vm: &mut Vm<'_>, clock: Clock) -> Returned {
        if self.handle.is_none() {
            return Err(vm.error(
                "a clock was read while the file is loaded; call now() inside an operation",
            ));
        }
        let clocks = &vm.machine.clocks;
        let moment = match clock {
            Clock::Monotonic => clocks.monotonic,
            Clock::Wall if clocks.scale.is_none() => clocks.wall,
            Clock::Wall => {
                let wall = clocks.wall;
                let number = vm.machine.readings.saturating_add(1);
                if number > Reading::MAX {
                    return Err(vm.refuse(RefusalKind::Limit, "reads its clock more than eight thousand times without waiting for anything"));
                }
                vm.machine.readings = number;
                Moment {
                    reading: Reading::own(number),
                    ..wall
                }
            }
        };
        Ok(vec![Value::Time(Time::At(clock, moment))])
    }

    fn undeclared(&self, vm: &Vm<'_>, args: &[Value]) -> Returned {
        let name = shown(args.get(1));
        if let Some(handle) = self.handle.filter(|_| name == "self") {
            return Ok(vec![Value::Table(handle)]);
        }
        Err(vm.error(match hint(&name) {
            Some(hint) => format!("`{name}` is not available in a lock file{hint}"),
            None => format!(
                "`{name}` is not defined; {}declare it with `local`, or see the list of words in docs/lock-files.md",
                meant(&name, Word::NAMED.map(|(_, word)| word)),
            ),
        }))
    }

    fn missing(&self, vm: &Vm<'_>, native: Native, args: &[Value]) -> Returned {
        let name = shown(args.get(1));
        let table = read_only_table(native);
        if table == "lock" && name == "mode" {
            return Ok(vec![Value::text(self.mode.name())]);
        }
        if table == "lock" && name == "token" {
            let token = self.token.clone();
            return Ok(vec![token.map_or(Value::Nil, Value::Text)]);
        }
        if table == "lock.nodes" {
            return Ok(vec![Value::Nil]);
        }
        let hint = match table {
            "lock" => format!("; {}", nearest::hint(&name, &LOCK_FIELDS)),
            _ => hint(&format!("{table}.{name}")).unwrap_or("").to_owned(),
        };
        Err(vm.error(format!("{table} has no `{name}`{hint}")))
    }
}

/// What operations get in `lock`.
const LOCK_FIELDS: [&str; 7] = ["key", "token", "owner", "ttl", "nodes", "params", "mode"];

/// `did you mean ..? `, or nothing.
fn meant<const N: usize>(name: &str, known: [&'static str; N]) -> String {
    let meant = nearest::nearest(name, known);
    meant.map_or(String::new(), |meant| {
        format!("did you mean `{meant}`? Otherwise ")
    })
}

fn hint(name: &str) -> Option<&'static str> {
    let found = BANNED.iter().find(|(banned, _)| *banned == name);
    found.map(|(_, hint)| *hint)
}

fn read_only_table(native: Native) -> &'static str {
    let index = usize::from(native.node).wrapping_sub(1);
    READ_ONLY.get(index).copied().unwrap_or("")
}

fn assigned(vm: &Vm<'_>, native: Native, args: &[Value]) -> Stop {
    let name = shown(args.get(1));
    vm.error(match read_only_table(native) {
        "" => format!(
            "`{name}` can not be assigned: a lock file has no global variables; write `local {name}`, or keep it in `self`"
        ),
        table => format!("{table} can not be changed; keep what must last in `self`"),
    })
}

fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::Text(text)) => lockproof_lua::text::printable(text.bytes()),
        Some(Value::Number(number)) => lockproof_lua::number::to_text(*number),
        Some(other) => other.type_name().to_owned(),
        None => "nil".to_owned(),
    }
}

/// A time that was stored in Redis; nothing if the value is none.
fn time(vm: &mut Vm<'_>, args: &[Value]) -> Returned {
    let value = args.first().cloned().unwrap_or(Value::Nil);
    let found = match &value {
        Value::Time(_) => value,
        Value::Text(text) if text.is_symbolic() => {
            let mut symbols = lockproof_lua::text::symbols(text.bytes());
            let alone = lockproof_lua::text::only_symbol(text.bytes());
            match (alone, vm.number(&value)) {
                (Some(_), Ok(Some(time @ Value::Time(_)))) => time,
                // With something else beside it, it is no time.
                _ if alone.is_none() && symbols.next().is_some() => Value::Nil,
                _ => {
                    return Err(vm.refuse(
                        RefusalKind::Names,
                        "reads a token, an owner or a measured duration as a time",
                    ));
                }
            }
        }
        Value::Text(text) => fixed(vm, text.bytes())?,
        Value::Number(number) => {
            let text = lockproof_lua::number::to_text(*number);
            fixed(vm, text.as_bytes())?
        }
        Value::Nil | Value::Bool(false) => Value::Nil,
        other => {
            let kind = other.type_name();
            return Err(vm.error(format!(
                "time(value) reads a decimal text that came from Redis, not a {kind}"
            )));
        }
    };
    Ok(vec![found])
}

fn decimal(text: &[u8]) -> Option<i64> {
    let digits = !text.is_empty() && text.len() <= 15 && text.iter().all(u8::is_ascii_digit);
    digits.then(|| std::str::from_utf8(text).ok()?.parse().ok())?
}

/// A fixed time: in a model nobody knows how far it is from the present, but
/// that it lies in another century.
fn fixed(vm: &Vm<'_>, text: &[u8]) -> Result<Value, Stop> {
    let Some(ms) = decimal(text) else {
        return Ok(Value::Nil);
    };
    if vm.machine.clocks.scale.is_none() {
        return Ok(Value::Time(Time::At(
            Clock::Wall,
            Moment {
                ms,
                ..Moment::default()
            },
        )));
    }
    let future = ms >= 10_000_000_000_000;
    if !future && ms > 1_000_000_000_000 {
        return Err(vm.refuse(
            RefusalKind::Digits,
            "uses a fixed date as a time, which depends on when it runs",
        ));
    }
    let far = lockproof_lua::text::Far {
        future,
        place: 0,
        node: u8::MAX,
        read: 0,
    };
    Ok(Value::Time(Time::Far(far, 0)))
}

/// `on(node)`, `on(node, {timeout = ms})`.
fn on(vm: &mut Vm<'_>, args: &[Value]) -> Returned {
    let node = match args.first() {
        Some(Value::Number(node)) if *node >= 1.0 && node.fract() == 0.0 && *node < 65_536.0 => {
            *node as u16
        }
        _ => {
            return Err(vm.error("on(node) takes a server's number, counted from 1"));
        }
    };
    let timeout_us = match args.get(1) {
        None | Some(Value::Nil) => -1,
        Some(Value::Table(id)) => timeout(vm, *id)?,
        Some(_) => {
            return Err(vm.error("on(node, options): options is a table such as {timeout = 50}"));
        }
    };
    let mut table = Table::default();
    for word in [
        Word::Redis,
        Word::Script,
        Word::Evalsha,
        Word::ScriptLoad,
        Word::Multi,
    ] {
        let native = Native {
            node,
            timeout_us,
            ..word.native()
        };
        table.set(Key::Text(Text::from(word.name())), Value::Native(native));
    }
    vm.allocate(96)?;
    Ok(vec![Value::Table(vm.machine.heap.table(table))])
}

fn timeout(vm: &Vm<'_>, options: TableId) -> Result<i64, Stop> {
    let table = vm.machine.heap.get(options);
    let known = Key::Text(Text::from("timeout"));
    if let Some((key, _)) = table.entries().find(|(key, _)| *key != known) {
        let name = shown(Some(&key.value()));
        return Err(vm.error(format!(
            "on() has no option `{name}`; it has `timeout`, in ms"
        )));
    }
    match table.field("timeout") {
        Value::Nil => Ok(-1),
        Value::Number(ms) if ms > 0.0 && ms < 1e12 => Ok((ms * 1000.0).ceil() as i64),
        _ => Err(vm.error("timeout must be a positive number of ms")),
    }
}
