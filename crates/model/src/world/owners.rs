//! Whose an element of a keyspace is.
//!
//! No server knows that; it is how the properties tell whose hold is touched when a
//! lock stores the same constant for everybody. A command makes what it writes its
//! sender's own. Readers of a read-write lock share what they write: it is theirs
//! together, until each of them has released.

use crate::lock::Mode;

use super::watches::Connection;

/// In which part its client sends a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sender {
    /// As the lock's only holder, or on the way there or back.
    #[default]
    Alone,
    /// As one of its readers, or on the way there.
    Reader,
    /// As a reader who gives back its last hold.
    LeavingReader,
}

impl Sender {
    /// The sender of a client in this mode; `leaves`: it gives back its last hold.
    pub fn of(mode: Mode, leaves: bool) -> Sender {
        match (mode, leaves) {
            (Mode::Write, _) => Sender::Alone,
            (Mode::Read, false) => Sender::Reader,
            (Mode::Read, true) => Sender::LeavingReader,
        }
    }
}

/// Who sends a command, and as what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Author {
    pub client: u8,
    pub sender: Sender,
    /// On which of its connections.
    pub connection: Connection,
}

impl Author {
    /// A client of a lock without modes, or a writer.
    pub fn alone(client: u8) -> Author {
        Author {
            client,
            sender: Sender::Alone,
            connection: Connection::Present,
        }
    }

    /// The client's bit.
    pub fn bit(self) -> u8 {
        1 << self.client
    }
}

/// The clients whose element it is, as a bit set; and whether they share it as readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owners(u8);

/// Above the bits of clients.
const SHARED: u8 = 1 << 7;

impl Owners {
    /// It is this client's alone.
    pub fn only(client: u8) -> Owners {
        Owners(1 << client)
    }

    /// The owners as a bit set.
    pub fn set(self) -> u8 {
        self.0 & !SHARED
    }

    /// Readers share it.
    pub fn is_shared(self) -> bool {
        self.0 & SHARED != 0
    }

    /// Whose it is once `author` has written it; `old` if it was there before.
    pub fn written(old: Option<Owners>, author: Author) -> Owners {
        let readers = old.filter(|old| old.is_shared()).map_or(0, Owners::set);
        let others = readers & !author.bit();
        match author.sender {
            Sender::Alone => Owners(author.bit()),
            Sender::LeavingReader if others != 0 => Owners(SHARED | others),
            Sender::Reader | Sender::LeavingReader => Owners(SHARED | others | author.bit()),
        }
    }

    /// Others (bit set) who lose it when `author` writes it.
    pub fn overwritten(self, author: Author) -> u8 {
        match self.is_shared() && author.sender != Sender::Alone {
            true => 0,
            false => self.set() & !author.bit(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn author(client: u8, sender: Sender) -> Author {
        Author {
            sender,
            ..Author::alone(client)
        }
    }

    #[test]
    fn readers_share_what_they_write_until_each_has_left() {
        let a = Owners::written(None, author(0, Sender::Reader));
        assert_eq!((a.set(), a.is_shared()), (0b01, true));
        let both = Owners::written(Some(a), author(1, Sender::Reader));
        assert_eq!(both.set(), 0b11);
        assert_eq!(a.overwritten(author(1, Sender::Reader)), 0);
        let b = Owners::written(Some(both), author(0, Sender::LeavingReader));
        assert_eq!(b.set(), 0b10);
        // What the last one writes on leaving is left behind by that one.
        let last = Owners::written(Some(b), author(1, Sender::LeavingReader));
        assert_eq!(last.set(), 0b10);
    }

    #[test]
    fn a_writer_takes_what_it_writes_from_all_readers_and_from_other_writers() {
        let both = Owners::written(
            Some(Owners::written(None, author(0, Sender::Reader))),
            author(1, Sender::Reader),
        );
        assert_eq!(both.overwritten(Author::alone(2)), 0b011);
        assert_eq!(
            Owners::written(Some(both), Author::alone(2)),
            Owners::only(2)
        );
        // A reader does not share with a writer.
        let writer = Owners::only(2);
        assert_eq!(writer.overwritten(author(0, Sender::Reader)), 0b100);
        assert_eq!(
            Owners::written(Some(writer), author(0, Sender::Reader)).set(),
            0b001
        );
    }
}
