//! Whose reading of a clock a stamp is that a server keeps.
//!
//! A request brings readings of its client's clock. As soon as it is executed a server keeps
//! them, and all that is left is whose they are. Two of one client and one tick cannot be told
//! apart by that: the later one is a *twin*, and whether it is like another one is open.

use super::node::{Keyspace, map_text};
use super::symbols;
use crate::lua::text::{self, Reading, Span, Symbol};
use crate::redis::{Bytes, Reply, Value};

/// A request that is executed, with what stood in the server before.
pub(super) struct Brought<'e> {
    client: u8,
    argv: &'e [Bytes],
    before: &'e Keyspace,
}

impl<'e> Brought<'e> {
    /// Nothing if the request brings no readings.
    pub(super) fn by(client: u8, argv: &'e [Bytes], before: &'e Keyspace) -> Option<Brought<'e>> {
        let brings = argv.iter().any(|word| text::has_own_reading(word));
        brings.then_some(Brought {
            client,
            argv,
            before,
        })
    }

    /// The reply as it tells them.
    pub(super) fn reply(&self, reply: &Reply) -> Reply {
        symbols::map_reply(reply, &mut |text| self.kept(text))
    }

    /// The value of a key as it keeps them.
    pub(super) fn value(&self, value: &Value) -> Value {
        map_text(value, &mut |text| self.kept(text))
    }

    fn kept(&self, text: &[u8]) -> Vec<u8> {
        text::map_symbols(text, |symbol, out| {
            match symbol {
                Symbol::Time(span, reading) if reading.client().is_none() => {
                    let kept = Reading::kept(self.client);
                    let twin = self.has_another(span, reading);
                    Symbol::Time(span, if twin { kept.twin() } else { kept })
                }
                other => other,
            }
            .write(out);
        })
    }

    /// The client has brought another reading of that tick, before or now.
    fn has_another(&self, span: Span, reading: Reading) -> bool {
        let another = |word: &[u8]| {
            text::symbols(word).any(|symbol| match symbol {
                Symbol::Time(other, of) => {
                    let whose = of.client().is_none_or(|client| client == self.client);
                    other.ticks == span.ticks && whose && of != reading
                }
                _ => false,
            })
        };
        let texts = self
            .before
            .entries
            .iter()
            .flat_map(|entry| texts(&entry.value));
        self.argv.iter().chain(texts).any(|text| another(text))
    }
}

/// The texts of a value that may be stamps.
fn texts(value: &Value) -> Vec<&Bytes> {
    match value {
        Value::String(text) => vec![text],
        Value::Hash(hash) => hash.values().collect(),
        Value::List(list) => list.iter().collect(),
        Value::SortedSet(_) => Vec::new(),
    }
}
