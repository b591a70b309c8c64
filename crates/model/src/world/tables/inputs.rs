//! The inputs of the client automaton as consecutive numbers.

use crate::lock::Op;
use crate::world::client::{Symbolic, THREADS};
use crate::world::closure::Closure;

/// Inputs of the client automaton as consecutive numbers.
#[derive(Clone, Copy, Debug, Hash)]
pub struct InputSpace {
    advance_max: usize,
    replies: usize,
    /// Most options of a choice.
    options: usize,
    messages: usize,
    renumberings: usize,
    exchanges: usize,
    /// One if callers may interrupt what runs.
    cancels: usize,
}

impl InputSpace {
    pub(super) fn of(closure: &Closure) -> InputSpace {
        let inputs = closure.locals.iter().flat_map(|local| local.next.keys());
        let chosen = inputs.map(|input| match input {
            Symbolic::Choose { value, .. } => usize::from(*value),
            _ => 0,
        });
        InputSpace {
            advance_max: usize::from(closure.needs.advance_max),
            replies: closure.local_replies.len(),
            options: chosen.max().unwrap_or(0),
            messages: closure.messages.len(),
            exchanges: closure.exchanges.len(),
            renumberings: if closure.rules.keys.has_fences() {
                closure.needs.renumberings().len()
            } else {
                0
            },
            cancels: usize::from(closure.needs.cancels),
        }
    }

    /// The input's number.
    pub fn index(self, input: Symbolic) -> usize {
        let skew = Op::ALL.len();
        let advance = skew + 2;
        let wake = advance + self.advance_max;
        let choose = wake + THREADS;
        let fail = choose + THREADS * self.options;
        let reply = fail + THREADS * 2;
        let message = reply + THREADS * self.replies;
        match input {
            Symbolic::Call(op) => op as usize,
            Symbolic::Skew(ticks) => skew + usize::from(ticks < 0),
            Symbolic::Advance(ticks) => advance + usize::from(ticks) - 1,
            Symbolic::Wake(thread) => wake + usize::from(thread),
            Symbolic::Choose { thread, value } => {
                choose + usize::from(thread) * self.options + usize::from(value) - 1
            }
            Symbolic::Fail { thread, definite } => {
                fail + usize::from(thread) * 2 + usize::from(definite)
            }
            Symbolic::Reply { thread, reply: r } => {
                reply + usize::from(thread) * self.replies + usize::from(r)
            }
            Symbolic::Message(number) => message + usize::from(number),
            Symbolic::Renumber(how) => message + self.messages + usize::from(how),
            Symbolic::Exchange(number) => {
                message + self.messages + self.renumberings + usize::from(number)
            }
            Symbolic::Cancel => message + self.messages + self.renumberings + self.exchanges,
        }
    }

    /// How many inputs there are.
    pub fn len(self) -> usize {
        let of_a_thread = 1 + self.options + 2 + self.replies;
        Op::ALL.len()
            + 2
            + self.advance_max
            + THREADS * of_a_thread
            + self.messages
            + self.renumberings
            + self.exchanges
            + self.cancels
    }

    /// Never: the calls are always there.
    pub fn is_empty(self) -> bool {
        false
    }
}
