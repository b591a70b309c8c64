//! What a lock file says of the servers that it works with.

/// How many independent servers a lock works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeCount {
    /// Used when nobody asks for another number.
    pub default: u8,
    /// The least that [`Program::start`](super::Program::start) takes.
    pub min: u8,
    /// The most that it takes.
    pub max: u8,
}

/// On which servers a lock works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// Redis and Valkey.
    Any,
    /// Valkey 9 or later: it uses commands that only this has.
    Valkey,
}

impl ServerKind {
    /// As traces and the servers themselves name it; `None` if any will do.
    pub fn name(self) -> Option<&'static str> {
        match self {
            ServerKind::Any => None,
            ServerKind::Valkey => Some("valkey"),
        }
    }
}
