//! What the execution of a command noticed besides its reply.
//!
//! A formal server answers everything, and some answers say nothing about a real
//! one: a command that it does not have, a script that runs beyond its bounds, a
//! number read from a token. Those are noted here where they happen, and the
//! caller has to look. The same way it learns whose entries were touched, and
//! which durations were set.

use lockproof_lua::{Refusal, RefusalKind};

use super::Bytes;

/// A value that was written: a key's, and where it is a collection, an element's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    pub key: Bytes,
    /// The field of a hash, the member of a sorted set, the item of a list.
    pub element: Option<Bytes>,
    /// By a command that counts (INCRBY, HINCRBY and their kin): it changes the number
    /// that is there, and puts nothing else in its place.
    pub counts: bool,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notes {
    /// Why the execution says nothing about a real server, and whether a script
    /// did it (then the refusal has its line).
    pub refusal: Option<(Refusal, bool)>,
    /// Values that were written, also over equal ones.
    pub written: Vec<Write>,
    /// Keys whose expiry was set, also to the very end that it had.
    pub expiries: Vec<Bytes>,
    /// Lives that were given to keys, in ms, ticks left out.
    pub lives: Vec<i64>,
    /// What the server's clock shows mattered: an end was given as a moment, or TIME asked.
    pub clock: bool,
    /// How many orders there were to choose from; see [`super::Server::set_order`].
    pub orders: u32,
    /// How many comparisons of times, in a script or by a command, were open; see
    /// [`super::Server::set_answers`].
    pub opened: u32,
    /// Members of a sorted set had one score, so their letters decided how they lie.
    pub tied: bool,
    /// Messages that were published, in order: channel and payload. Only where a caller
    /// says how many listen (see [`super::Server::set_listeners`]).
    pub published: Vec<(Bytes, Bytes)>,
}

impl Notes {
    /// The execution says nothing: the first reason counts.
    pub fn refuse(&mut self, kind: RefusalKind, what: impl Into<String>) {
        let what = what.into();
        self.put(
            Refusal {
                kind,
                what,
                line: 0,
            },
            false,
        );
    }

    /// The same of a script.
    pub fn refuse_in_script(&mut self, refusal: Refusal) {
        self.put(refusal, true);
    }

    fn put(&mut self, refusal: Refusal, script: bool) {
        match &mut self.refusal {
            None => self.refusal = Some((refusal, script)),
            // A command refused it, and now its script knows the line.
            Some((known, in_script)) if script && !*in_script => {
                known.line = refusal.line;
                *in_script = true;
            }
            Some(_) => {}
        }
    }
}
