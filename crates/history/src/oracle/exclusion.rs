//! Mutual exclusion in two senses: by what clients believe, and by what they
//! believe within the validity that they were told.
//!
//! B: from the acquire's success to the release's *call*, the client's crash, or
//! the word that the lock is lost. If that word came while the acquire was open,
//! nobody knows whether it meant this lock or an earlier one of the client's: then
//! the hold is only a possible one. V: B, and before the validity is over. When a
//! client began to count its validity is not in the history; it was between the
//! acquire's call and its success. So V surely lasts until call + validity, and
//! lasts at most until success + validity.

use crate::record::F;
use crate::seen::{Completion, Op, Seen, Why};
use crate::{Finding, Header, Kind};

use super::Oracle;
use super::holds::{Clash, Grant, KeyHolds};
use super::tally::Tally;

pub(super) const BELIEF: &str = "mutual-exclusion-belief";
pub(super) const VALIDITY: &str = "mutual-exclusion-validity";

pub(super) struct Exclusion {
    name: &'static str,
    reentrant: bool,
    keys: Vec<KeyHolds>,
    /// Keys with holds that began or ended now.
    changed: Vec<usize>,
    now: u64,
    tally: Tally,
}

impl Exclusion {
    pub(super) fn new(name: &'static str, header: &Header) -> Exclusion {
        Exclusion {
            name,
            reentrant: header.reentrant,
            keys: Vec::new(),
            changed: Vec::new(),
            now: 0,
            tally: Tally::default(),
        }
    }

    fn settle(&mut self) {
        for key in self.changed.drain(..) {
            let tally = &mut self.tally;
            self.keys[key].settle(self.now, |clash| count(tally, clash));
        }
    }

    fn key(&mut self, key: usize) -> &mut KeyHolds {
        if self.keys.len() <= key {
            self.keys.resize_with(key + 1, KeyHolds::default);
        }
        self.changed.push(key);
        &mut self.keys[key]
    }

    fn acquired(&mut self, op: &Op, client: u32, end: &Completion<'_>) {
        if end.kind == Kind::Fail {
            return;
        }
        self.tally.checked += 1;
        if end.kind == Kind::Ok {
            let grant = self.grant(op, client, end);
            self.key(op.key).grant(grant);
        } else {
            let over = (end.why == Why::Crashed).then_some(end.time);
            let who = (client, op.line);
            self.key(op.key).suspect(who, op.invoked, over);
        }
    }

    fn grant(&self, op: &Op, client: u32, end: &Completion<'_>) -> Grant {
        let until = |from: u64| match end.details.validity_ns {
            Some(validity) if self.name == VALIDITY => from.saturating_add_signed(validity),
            _ => u64::MAX,
        };
        Grant {
            client,
            line: end.line,
            time: end.time,
            sure: !op.told_lost && !op.vague,
            sure_until: until(op.invoked),
            may_until: until(end.time),
        }
    }
}

impl Oracle for Exclusion {
    fn see(&mut self, seen: &Seen<'_>) {
        let time = seen.time();
        if time > self.now {
            self.settle();
            self.now = time;
        }
        if let Some((client, key)) = seen.gone() {
            let keys = key.map_or(0..self.keys.len(), |key| key..key + 1);
            keys.for_each(|key| self.key(key).end(client, time));
        }
        let reentrant = self.reentrant;
        match seen {
            Seen::Invoked(op) => {
                let Some(client) = op.client() else { return };
                match op.f {
                    F::Release => self.key(op.key).release(client, time, reentrant),
                    F::Acquire if !reentrant => self.key(op.key).asks_again(client, time),
                    _ => {}
                }
            }
            Seen::Ended(op, end) => {
                let Some(client) = op.client() else { return };
                let failed = matches!(end.kind, Kind::Fail | Kind::Info);
                match op.f {
                    F::Acquire => self.acquired(op, client, end),
                    F::Release if failed && reentrant && end.why == Why::Completed => {
                        self.key(op.key).release_failed(client, time);
                    }
                    _ => {}
                }
            }
            Seen::Noted(_) | Seen::Lost(..) => {}
        }
    }

    fn finish(mut self: Box<Self>, examples: usize) -> Finding {
        self.settle();
        let nothing = "no client acquired";
        self.tally.finish(self.name, examples, nothing)
    }
}

fn count(tally: &mut Tally, clash: Clash) {
    let (client, line) = clash.later;
    let (other, since) = clash.earlier;
    let mut lines = vec![line];
    lines.extend(since);
    let words = || match (clash.sure, since) {
        (true, Some(since)) => format!(
            "client {client} acquired (line {line}) while client {other} held (line {since})"
        ),
        (_, Some(since)) => format!(
            "client {client} (line {line}) and client {other} (line {since}) may have held together"
        ),
        (_, None) => format!(
            "client {client} (line {line}) may have held while client {other} did, whose hold is over"
        ),
    };
    match clash.sure {
        true => tally.sure(clash.time, &lines, words),
        false => tally.possible(clash.time, &lines, words),
    }
}
