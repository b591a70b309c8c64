//! Two lock objects of each client: what a lock file says of them.
//!
//! The design, for all layers. A client with two lock objects is two *parts*, one an object.
//! Each part runs the file's program with a key, tokens, threads and messages of its own, as a
//! client without objects does; parts 0 and 1 are client A's, 2 and 3 are B's. What makes two
//! parts one client is stated as rules:
//!
//! - one thread calls both: an operation of a part begins only while the other part's caller
//!   is in none;
//! - calls nest: the second part acquires only while the first one holds, and the first gives
//!   back its last hold only when the second has none;
//! - a crash, a restart and a pause strike both, and cost one fault, as with two callers of one
//!   process (`callers.rs`), whose machinery serves a shared handle as well;
//! - `lock.owner` is the same for both.
//!
//! Properties are judged for each part, so for each object: clients exclude each other on one
//! key, and what a part writes is its own. One is asked of both at once: `deadlock-freedom`
//! looks for a second part that acquires, so for a client that has both. (Who can only ever get
//! the first is stuck.)
//!
//! The rest of it: `crates/trace/src/objects.rs` (which part is what), and
//! `crates/model/src/world/rules/objects.rs` (the rules).

use lockproof_lua::{Key, Machine, Value};

use super::file::LockFile;
use super::types::Op;

/// The lock objects of each client. By default there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Objects {
    /// There are two, on two keys.
    pub two: bool,
    /// The second client takes the two keys in the other order.
    pub opposite: bool,
    /// Both use one handle (`self`).
    pub shared: bool,
}

const SHAPE: &str = "`objects` must be 2, or {count = 2, order = \"same\" or \"opposite\", state = \"own\" or \"shared\"}: \
                     two lock objects of each client; leave it out for one object";

/// Reads the field `objects`.
///
/// # Errors
/// Says what it takes.
pub(super) fn declared(value: &Value, machine: &Machine) -> Result<Objects, String> {
    let two = |value: &Value| *value == Value::Number(2.0);
    let id = match value {
        Value::Nil => return Ok(Objects::default()),
        Value::Table(id) => *id,
        number if two(number) => {
            return Ok(Objects {
                two: true,
                ..Objects::default()
            });
        }
        _ => return Err(SHAPE.to_owned()),
    };
    let table = machine.heap.get(id);
    let known = ["count", "order", "state"].map(|name| Key::Text(name.into()));
    let odd = table.entries().any(|(key, _)| !known.contains(&key));
    let second = |name: &str, words: [&[u8]; 2]| match table.field(name) {
        Value::Nil => Some(false),
        Value::Text(text) => {
            let found = words.iter().position(|word| *word == text.bytes());
            found.map(|place| place == 1)
        }
        _ => None,
    };
    let opposite = second("order", [b"same", b"opposite"]);
    let shared = second("state", [b"own", b"shared"]);
    match (two(&table.field("count")), opposite, shared, odd) {
        (true, Some(opposite), Some(shared), false) => Ok(Objects {
            two: true,
            opposite,
            shared,
        }),
        _ => Err(SHAPE.to_owned()),
    }
}

/// What the file has beside two objects that the model does not follow with them: the field
/// that says so, and why not.
pub(super) fn unfollowed(file: &LockFile) -> Option<(&'static str, String)> {
    let fenced = file.has_fences || file.keys.has_fences();
    let beside = [
        (file.callers.two, "callers", "two callers of one process"),
        (file.nodes.max > 1, "nodes", "several servers"),
        (fenced, "objects", "fences"),
        (file.has_modes, "acquire_read", "readers and writers"),
        (
            file.listens,
            "objects",
            "clients that wait for messages, or send BLPOP,",
        ),
        (file.fair, "fair", "starvation-freedom"),
        (file.has(Op::Renew), "renew", "an operation `renew`"),
        (file.has(Op::IsHeld), "is_held", "an operation `is_held`"),
    ];
    let (_, field, what) = beside
        .into_iter()
        .find(|(has, ..)| file.objects.two && *has)?;
    let why = format!("{what} beside `objects` is not in the model; leave one of them out");
    Some((field, why))
}
