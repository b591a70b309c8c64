//! Mutual exclusion in two readings: by what clients believe, and by what they
//! believe within the validity that they were told.
//!
//! B: from the acquire's success to the release's *call*, the client's crash, or
//! the word that the lock is lost. V: B, and before the validity is over. When a
//! client began to count its validity is not in the history; it was between the
//! acquire's call and its success. So V surely lasts until call + validity, and
//! lasts at most until success + validity.

use crate::history::operations::{End, Op, Seen, Why};
use crate::history::record::F;
use crate::history::{Finding, Header, Kind};

use super::Oracle;
use super::holds::{Clash, Grant, KeyHolds};
use super::tally::Tally;

pub(super) const BELIEF: &str = "mutual-exclusion-belief";
pub(super) const VALIDITY: &str = "mutual-exclusion-validity";

pub(super) struct Exclusion {
    name: &'static str,
    reentrant: bool,
    keys: Vec<KeyHolds>,
    /// Keys with holds that began now.
    fresh: Vec<usize>,
    now: u64,
    tally: Tally,
}

impl Exclusion {
    pub(super) fn new(name: &'static str, header: &Header) -> Exclusion {
        Exclusion {
            name,
            reentrant: header.reentrant,
            keys: Vec::new(),
            fresh: Vec::new(),
            now: 0,
            tally: Tally::default(),
        }
    }

    fn settle(&mut self) {
        for key in self.fresh.drain(..) {
            let tally = &mut self.tally;
            self.keys[key].settle(self.now, |clash| count(tally, clash));
        }
    }

    fn key(&mut self, key: usize) -> &mut KeyHolds {
        if self.keys.len() <= key {
            self.keys.resize_with(key + 1, KeyHolds::default);
        }
        &mut self.keys[key]
    }

    fn ended(&mut self, op: &Op, client: u32, end: &End<'_>) {
        if end.kind == Kind::Fail {
            return;
        }
        self.tally.checked += 1;
        let stays = end.why != Why::Crashed;
        if end.kind == Kind::Ok {
            let reentrant = self.reentrant;
            let grant = self.grant(op, client, end);
            self.key(op.key).grant(grant, reentrant);
        } else {
            let span = (op.invoked, end.time);
            let clash = self.key(op.key).suspect((client, op.line), span, stays);
            clash
                .into_iter()
                .for_each(|clash| count(&mut self.tally, clash));
        }
        if stays {
            self.fresh.push(op.key);
        }
    }

    fn grant(&self, op: &Op, client: u32, end: &End<'_>) -> Grant {
        let until = |from: u64| match end.details.validity_ns {
            Some(validity) if self.name == VALIDITY => from.saturating_add_signed(validity),
            _ => u64::MAX,
        };
        Grant {
            client,
            line: end.line,
            time: end.time,
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
        match seen {
            Seen::Ended(op, end) if op.f == F::Acquire => {
                if let Some(client) = op.client() {
                    self.ended(op, client, end);
                }
            }
            Seen::Invoked(op) => {
                let Some(client) = op.client() else { return };
                let reentrant = self.reentrant;
                match op.f {
                    F::Release => self.key(op.key).release(client, time, reentrant),
                    F::Acquire if !reentrant => self.key(op.key).asks_again(client, time),
                    _ => {}
                }
            }
            Seen::Noted(_) => {
                if let Some(client) = seen.death().or(seen.loser()) {
                    self.keys.iter_mut().for_each(|key| key.end(client, time));
                }
            }
            Seen::Ended(..) => {}
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
