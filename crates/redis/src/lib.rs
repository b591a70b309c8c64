//! The formal Redis server: an exact model of the commands that locks use.
//!
//! It has no sockets and reads no clock: time is a number that the caller
//! advances. It is held to the real server by `tests/differential/redis.rs`,
//! which runs the same random commands and scripts on both and compares every
//! reply and the keyspace that is left.
//!
//! | file | what it is |
//! |---|---|
//! | [`server`](Server) | the state: keyspace, expiry, script cache, subscriptions |
//! | [`command`](commands) | the registry: one row a command, and the dispatch |
//! | `strings`, `keys`, `hashes`, `lists`, `sorted_sets`, `pubsub`, `scripting`, `connection` | the handlers, by type |
//! | `transactions` | WATCH and MULTI: who watches what, and what is queued |
//! | [`multi`](Multi) | a client's transaction as one message |
//! | [`engine`](ScriptEngine) | Lua 5.1 as Redis embeds it, for EVAL |
//! | `number`, `operand` | how Redis reads and prints numbers; numbers, ends of lives and texts that may be symbols |
//! | [`notes`](Notes) | what an execution noticed besides its reply |
//! | `refusal` | the error replies |
//!
//! ```
//! use lockproof_redis::{Reply, ScriptEngine, Server};
//!
//! let mut server = Server::new(1_700_000_000_000);
//! let mut scripts = ScriptEngine::new()?;
//! let set = ["SET", "lock", "a", "NX", "PX", "3000"].map(|word| word.into());
//! assert_eq!(server.execute(&mut scripts, 1, &set), Reply::Status("OK".into()));
//! assert_eq!(server.execute(&mut scripts, 2, &set), Reply::Nil);
//! server.advance(3001); // the key's life is over
//! assert_eq!(server.execute(&mut scripts, 2, &set), Reply::Status("OK".into()));
//! # Ok::<(), lockproof_redis::EngineError>(())
//! ```
//!
//! Two other designs were rejected. Embedding a ready-made Redis clone would
//! bring its own clock and threads, and no clone answers with Redis's exact
//! errors. Modelling each lock's few commands by hand would be smaller, but
//! then the model would be trusted instead of tested. A model that runs every
//! lock's own commands and scripts can be compared with the real server on
//! inputs that no lock would ever send.

mod call;
mod command;
mod connection;
mod engine;
mod hashes;
mod keys;
mod lists;
mod multi;
mod notes;
mod number;
mod operand;
mod pubsub;
mod refusal;
mod scores;
mod scripting;
mod server;
mod sets;
mod slot;
mod sorted_sets;
mod strings;
mod transactions;
mod value;

pub use command::{Command, commands, lacking_command};
pub use engine::{EngineError, ScriptEngine, compile_script, script_sha};
pub use multi::Multi;
pub use notes::{Notes, Write};
pub use operand::no_name;
pub use server::{Dialect, Expiry, Published, Server};
pub use slot::{SLOTS, hashed, several_keys, slot};
pub use transactions::Watched;
pub use value::{Hash, List, Score, SortedSet, Value};

/// A byte string as Redis stores and sends it.
pub type Bytes = Vec<u8>;

/// A reply in RESP2, the protocol version that every Redis since 2.0 speaks.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The null bulk string, `$-1` (also stands for the null array `*-1`).
    Nil,
    /// A simple string, `+OK`.
    Status(String),
    /// An error line without its leading `-`, such as `WRONGTYPE Operation ...`.
    Error(String),
    /// An integer, `:1`.
    Int(i64),
    /// A bulk string (serialised as text; a lock's values are text).
    Bulk(#[serde(with = "text")] Bytes),
    /// An array of replies.
    Array(Vec<Reply>),
}

mod text {
    //! Byte strings as text in JSON.
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(bytes: &[u8], s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&String::from_utf8_lossy(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
        String::deserialize(d).map(String::into_bytes)
    }
}

#[cfg(test)]
mod tests;
