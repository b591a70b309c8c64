//! WATCH and `multi`: what a client library keeps of a transaction.
//!
//! Keys are watched on a connection, and connections belong to threads. A library that has
//! got OK for its WATCH sends the next transaction only on that connection. If it is gone, the
//! keys are not watched any more, and the transaction is not sent. So a transaction says
//! whether it is guarded in that way; whether its connection still stands is not the
//! program's to know.

use std::collections::BTreeSet;

use lockproof_lua::text;
use lockproof_lua::{RefusalKind, Value};
use lockproof_redis::{Multi, Reply};

use super::ask::{Answer, Ask, refuse};
use super::program::Program;
use super::types::Thread;

/// What the caller's thread has watched since its operation began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watching {
    /// Nodes on whose connection something is watched, as far as the library knows.
    nodes: BTreeSet<u8>,
    /// The node that was asked last, if for WATCH (`true`) or UNWATCH.
    asked: Option<(u8, bool)>,
}

impl Watching {
    /// The reply for a thread has come.
    pub fn answered(&mut self, thread: Thread, reply: &Reply) {
        let asked = if thread == 0 { self.asked.take() } else { None };
        match asked {
            Some(_) if matches!(reply, Reply::Error(_)) => {}
            Some((node, true)) => drop(self.nodes.insert(node)),
            Some((node, false)) => drop(self.nodes.remove(&node)),
            None => {}
        }
    }

    /// No reply for a thread comes any more.
    pub fn unanswered(&mut self, thread: Thread) {
        if thread == 0 {
            self.asked = None;
        }
    }

    /// It in numbers.
    pub fn numbers(&self) -> impl Iterator<Item = i64> {
        let asked = self.asked;
        let asked = asked.map_or(-1, |(node, begins)| {
            i64::from(node) << 1 | i64::from(begins)
        });
        let nodes = self.nodes.iter().copied().map(i64::from);
        [asked, self.nodes.len() as i64].into_iter().chain(nodes)
    }
}

/// What a transaction may not have in it, and why.
const WITHOUT: [(&str, &[&str]); 4] = [
    (
        "is about the connection, or begins another transaction",
        &["watch", "unwatch", "multi", "exec", "discard"],
    ),
    (
        "runs a script, which is a transaction by itself; send it alone",
        &[
            "eval",
            "evalsha",
            "eval_ro",
            "evalsha_ro",
            "script",
            "fcall",
        ],
    ),
    (
        "waits, which nothing does in a transaction",
        &[
            "blpop",
            "brpop",
            "blmove",
            "brpoplpush",
            "bzpopmin",
            "bzpopmax",
            "wait",
        ],
    ),
    (
        "is about messages, which the model does not follow in a transaction",
        &[
            "publish",
            "subscribe",
            "unsubscribe",
            "psubscribe",
            "punsubscribe",
        ],
    ),
];

impl Program {
    /// A transaction as one command line.
    pub(super) fn multi(&self, thread: Thread, node: u8, ask: &Ask) -> Answer<Vec<Vec<u8>>> {
        const SHAPE: &str = "multi{ .. } takes a list of commands, each a list of its words, such as \
                             multi{ {\"DEL\", lock.key} }";
        let Value::Table(list) = ask.value(0) else {
            return Err(SHAPE.into());
        };
        let list = self.machine.heap.get(*list);
        let mut commands = Vec::new();
        if ask.values.len() > 1 {
            return Err(SHAPE.into());
        }
        for index in 1..=list.length() {
            let words = list.item(index);
            let name = match &words {
                Value::Table(words) => self.machine.heap.get(*words).item(1),
                _ => return Err(SHAPE.into()),
            };
            if !matches!(&name, Value::Text(name) if name.as_plain().is_some()) {
                return Err(SHAPE.into());
            }
            let words = self.arguments(&words, &format!("command {index} of multi"))?;
            let name = words.first().map(|name| text::printable(name));
            let name = name.filter(|name| !name.is_empty()).ok_or(SHAPE)?;
            let is = |known: &&str| name.eq_ignore_ascii_case(known);
            let odd = WITHOUT.iter().find(|(_, names)| names.iter().any(is));
            if let Some((why, _)) = odd {
                let name = name.to_uppercase();
                return Err(format!("multi{{ .. }} can not have {name} in it: it {why}").into());
            }
            commands.push(words);
        }
        if commands.is_empty() {
            return Err(SHAPE.into());
        }
        let multi = Multi {
            guarded: thread == 0 && self.client.watching.nodes.contains(&node),
            commands: commands.iter().map(Vec::as_slice).collect(),
        };
        Ok(multi.words())
    }

    /// Notes what a thread is about to send, if keys are watched by it, or not any more.
    pub(super) fn watch(&mut self, thread: Thread, node: u8, argv: &[Vec<u8>]) -> Answer<()> {
        let name = argv.first().map_or(&[][..], Vec::as_slice);
        let is = |word: &str| name.eq_ignore_ascii_case(word.as_bytes());
        let (watch, unwatch) = (is("watch"), is("unwatch"));
        if thread != 0 {
            if watch || unwatch {
                return Err(
                    "a background thread can not watch keys; the thread of the operation can"
                        .into(),
                );
            }
            return Ok(());
        }
        let watching = &mut self.client.watching;
        watching.asked = (watch || unwatch).then_some((node, watch));
        if Multi::of(argv).is_some() {
            watching.nodes.remove(&node);
        }
        let model = self.machine.clocks.scale.is_some();
        if watch && model && argv.iter().any(|word| text::has_symbols(word)) {
            return refuse(
                RefusalKind::Lacks,
                "watches a key that is named by a token, an owner or a time, which the model does \
                 not follow",
            );
        }
        Ok(())
    }
}
