//! What a transition does, note by note.
//!
//! The rules of the world stand once, over packed states. A search wants the states
//! alone. Who runs live programs and formal servers along a path asks for notes as
//! well, and does with real contents what the rules did with numbers.

use crate::lock::{Kept, Op, Stated};

use super::client::{Ending, Symbolic};
use super::closure::Execution;
use super::fences::Renumbering;
use super::layout::Field;
use super::message::Message;
use super::watches::Unwatch;

/// Where rules put their notes.
pub(super) trait Log: Clone + Default {
    /// Somebody reads the notes.
    const ON: bool;

    /// Takes a note.
    fn note(&mut self, note: impl FnOnce() -> Note);

    /// The last so many requests are not sent yet.
    fn hold_back(&mut self, requests: usize);
}

/// Nobody reads the notes.
#[derive(Clone, Copy, Default)]
pub(super) struct Unread;

impl Log for Unread {
    const ON: bool = false;

    #[inline(always)]
    fn note(&mut self, _: impl FnOnce() -> Note) {}

    #[inline(always)]
    fn hold_back(&mut self, _: usize) {}
}

/// All notes, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes(pub Vec<Note>);

impl Log for Notes {
    const ON: bool = true;

    fn note(&mut self, note: impl FnOnce() -> Note) {
        self.0.push(note());
    }

    fn hold_back(&mut self, requests: usize) {
        let sent = self.0.iter_mut().rev().filter_map(|note| match note {
            Note::Sent { fate, .. } => Some(fate).filter(|fate| **fate != Fate::Withheld),
            _ => None,
        });
        sent.take(requests).for_each(|fate| *fate = Fate::Held);
    }
}

/// What becomes of a request that a client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is on its way.
    Posted,
    /// The link is cut.
    Lost,
    /// Its server is gone.
    Refused,
    /// Its client's library does not send it: what it had watched is not watched any more.
    Withheld,
    /// The client is paused before.
    Held,
}

/// What decides how a client's older tokens are renamed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retired {
    /// Those that its requests in flight name, as a set of places in a renaming.
    pub named: u8,
    /// Those that its program keeps.
    pub kept: Kept,
}

/// One thing that a transition does.
///
/// Contents of servers are named by the fields of the state that number them.
#[derive(Clone, Debug)]
pub(super) enum Note {
    /// A client's operation begins. If it gets a fresh token, older ones are
    /// renamed.
    Begun {
        client: usize,
        op: Op,
        retirement: Option<Retired>,
    },
    /// A client's process is another one, with the same owner.
    Restarted { client: usize },
    /// A client in this class gets an input.
    Fed {
        client: usize,
        class: u16,
        input: Symbolic,
    },
    /// A thread has a new connection.
    Connected {
        client: usize,
        node: usize,
        thread: u8,
    },
    /// A client sends a request.
    Sent {
        client: usize,
        message: Message,
        fate: Fate,
    },
    /// All that a client does upon an input is done; it is in this class now.
    Settled {
        client: usize,
        class: u16,
        ending: Option<(Op, Ending)>,
        /// The fence that came with it.
        fence: Option<Stated>,
        /// Threads (bit set) that gave a command up.
        abandoned: u8,
        /// Assertions that do not hold.
        broken: u8,
    },
    /// A message is not in flight any more, and about to be dealt with.
    Taken { client: usize, message: Message },
    /// The message that was taken is lost on its way.
    Lost { message: Message },
    /// What became of the message that was taken is in flight.
    Posted { message: Message },
    /// A server sends a message to a client that listens: one more of those that came
    /// last (`onto`), or the first. On a link that swallows it, it is lost.
    Published {
        client: usize,
        message: Message,
        onto: Option<Message>,
        lost: bool,
    },
    /// Of the messages that were taken all but the first stay in flight, as this.
    Parted { message: Message },
    /// These messages of a client become others, all at once, or are no more.
    Rewritten {
        client: usize,
        messages: Vec<(Message, Option<Message>)>,
    },
    /// The server of these contents executes the request that was taken.
    Executed {
        server: Field,
        message: Message,
        execution: Execution,
        alone: bool,
        /// Other than 0: comparisons of times in its script did not come out as at ticks.
        way: u8,
    },
    /// The request that is about to be executed draws a fence above all others, which get
    /// other ranks.
    Drew { how: Renumbering },
    /// This becomes of what a client watches at a server with these contents.
    Unwatched {
        field: Field,
        client: usize,
        what: Unwatch,
    },
    /// The server holds the WAIT, or the BLPOP, that was taken back.
    Blocked,
    /// The server learns that the client of the BLPOP that was taken has gone.
    HungUp,
    /// The replica has what a WAIT of this connection asks for.
    Acknowledged {
        client: usize,
        node: usize,
        thread: u8,
    },
    /// The connection's next WAIT asks for all that is written by now.
    Positioned {
        client: usize,
        node: usize,
        thread: u8,
    },
    /// All connections to the node are new.
    Forgot { node: usize },
    /// What the executed command left stands there.
    Left { to: Field },
    /// One server's contents are another's.
    Copied { to: Field, from: Field },
    /// They are what is written of another's.
    Stored { to: Field, from: Field },
    /// The contents are gone, the server's clock stays.
    Emptied { field: Field },
    /// All keys are deleted.
    Flushed { field: Field },
    /// Nothing stands there any more.
    Cleared { field: Field },
    /// A server's clock moves by so many ticks; true if time passes with it.
    Moved {
        field: Field,
        ticks: i64,
        time: bool,
    },
    /// The node's replica may lack one write more.
    LeftBehind { node: usize },
    /// The node's replica, which lacks so many writes, takes its place.
    Promoted { node: usize, lost: usize },
    /// The node has a replica again, which has everything.
    Rejoined { node: usize },
    /// The node's server, or its old one, counts its replica as gone.
    Gone { node: usize, old: bool },
    /// The replica has everything, from now on, or from what follows on.
    CaughtUp { node: usize, now: bool },
    /// All clocks advance; that of one client may by another number of ticks.
    Ticked { drift: Option<(usize, u8)> },
}
