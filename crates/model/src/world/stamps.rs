//! Whose reading of a clock a stamp is that a server keeps.
//!
//! A request brings readings of its client's clock. As soon as it is executed a server keeps
//! them, and all that is left is whose they are. Two of one client and one tick cannot be told
//! apart by that: where the earlier one is still there, the later one is a *twin*, and whether
//! it is like another one is open.

use lockproof_lua::text::{self, Reading, Span, Symbol};
use lockproof_redis::{Bytes, Reply, Score, Server, Value};

use super::node::map_text;
use super::symbols;

/// A server keeps what a request of `client` brought to it. Gives the reply as it tells that.
pub(super) fn keep(server: &mut Server, client: u8, argv: &[Bytes], reply: Reply) -> Reply {
    if !argv.iter().any(|word| text::has_own_reading(word)) {
        return reply;
    }
    let values = server.entries().flat_map(|(_, value, _)| texts(value));
    let scores = server.entries().flat_map(|(_, value, _)| scores(value));
    let texts = argv.iter().chain(values).flat_map(|text| stamps(text));
    let brought = Brought {
        client,
        beside: texts.chain(scores).collect(),
    };
    server.map_values(|value| map_text(value, &mut |text| brought.kept(text)));
    symbols::map_reply(&reply, &mut |text| brought.kept(text))
}

struct Brought {
    client: u8,
    /// All stamps in the request, and in the server after it.
    beside: Vec<(Span, Reading)>,
}

impl Brought {
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

    /// Another reading of the client and of that tick is there.
    fn has_another(&self, span: Span, reading: Reading) -> bool {
        self.beside.iter().any(|(other, of)| {
            let whose = of.client().is_none_or(|client| client == self.client);
            other.ticks == span.ticks && whose && *of != reading
        })
    }
}

fn stamps(text: &[u8]) -> impl Iterator<Item = (Span, Reading)> {
    text::symbols(text).filter_map(stamp)
}

fn stamp(symbol: Symbol) -> Option<(Span, Reading)> {
    match symbol {
        Symbol::Time(span, reading) => Some((span, reading)),
        _ => None,
    }
}

/// The stamps that are scores.
fn scores(value: &Value) -> Vec<(Span, Reading)> {
    let Value::SortedSet(set) = value else {
        return Vec::new();
    };
    let scores = set.ranked().into_iter();
    let found = scores.filter_map(|(_, score)| match score {
        Score::Number(_) => None,
        Score::Stamp(symbol) => stamp(symbol),
    });
    found.collect()
}

/// The texts of a value that may be stamps.
fn texts(value: &Value) -> Vec<&Bytes> {
    match value {
        Value::String(text) => vec![text],
        Value::Hash(hash) => hash.values().collect(),
        Value::List(list) => list.iter().collect(),
        Value::Set(_) | Value::SortedSet(_) => Vec::new(),
    }
}
