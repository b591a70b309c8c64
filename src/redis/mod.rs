//! The formal Redis server: an exact model of the commands that locks use.
//!
//! It has no sockets and reads no clock: time is a number that the caller
//! advances. It is held to the real server by `tests/redis_differential.rs`.

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
    //! Byte strings as text in JSON: invalid UTF-8 is written as `\xNN`.
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(bytes: &[u8], s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&String::from_utf8_lossy(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
        String::deserialize(d).map(String::into_bytes)
    }
}
