//! What can happen in an execution, as plain values; their words are in `story.rs`.

/// Who does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Thread {
    /// A thread that locks and unlocks: T1, T2.
    Caller(u8),
    /// A thread that renews a lease, by the order in which they were started: R1, R2.
    Renewal(u8),
    /// Time, and the thread on which timers fire.
    Clock,
}

impl Thread {
    /// The number of a thread that locks and unlocks.
    pub(crate) fn caller(self) -> Option<u8> {
        match self {
            Thread::Caller(number) => Some(number),
            Thread::Renewal(_) | Thread::Clock => None,
        }
    }
}

/// A lock's key: a or b.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    A,
    B,
}

impl Key {
    pub(crate) const ALL: [Key; 2] = [Key::A, Key::B];

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// What a handle writes into a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Value {
    /// The thread that it stands for. No server sees it; claims do.
    pub(crate) thread: u8,
    /// What the server compares.
    pub(crate) field: Field,
}

/// The text of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Field {
    /// The thread's number, the same in each of its acquires.
    Thread(u8),
    /// A token that no other acquire has: thread, and which of its acquires.
    Token(u8, u8),
    /// The client's id alone, which all its threads share.
    Client,
}

impl Value {
    pub(crate) fn thread(thread: u8) -> Value {
        let field = Field::Thread(thread);
        Value { thread, field }
    }
}

/// A command, or a script, which is one step of the server as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    SetNx,
    DeleteIf,
    ExpireIf,
    Expire,
    LockScript,
    UnlockScript,
}

/// What the server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Ok,
    Nil,
    One,
    Zero,
    Count(u32),
    Busy,
}

/// What a command does that a claim asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// The key is the sender's. `acquisition` counts the acquires that found it free.
    Took {
        acquisition: u8,
    },
    /// The key has a new lease. `own` if it is that of the acquire that the sender means;
    /// `of` is the thread that has it.
    Extended {
        own: bool,
        of: u8,
    },
}

/// What becomes of a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Starts,
    /// A task that renews every lock has this one on its list now.
    Listed,
    /// A timer's time has come.
    Fires,
    Ends(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Lock,
    Unlock,
}

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Something inside the process, in words.
    Note(&'static str),
    /// A caller calls the handle.
    Calls(Call, Key),
    /// A caller calls its last unlock: from here on it does not hold the lock.
    Releases(Key),
    /// The handle answers; `held` if the caller held the lock when it called.
    Answers {
        call: Call,
        key: Key,
        answer: bool,
        held: bool,
    },
    Command {
        command: Command,
        key: Key,
        value: Value,
        reply: Reply,
        effect: Effect,
    },
    /// A nested lock was granted from memory; `own` if the key was that thread's.
    Told { key: Key, own: bool },
    /// A tick has passed.
    Tick(u32),
    /// The key is gone because its time is over.
    LeaseEnds(Key),
    /// `key` is what it renews, if it is not every lock of the client; `of` is the thread
    /// whose hold it renews, if it renews one thread's.
    Renewal {
        id: u8,
        key: Option<Key>,
        of: Option<u8>,
        life: Life,
    },
    /// A timer was to be cancelled that has fired.
    TooLate(u8),
    /// Nothing is under way.
    Quiet,
    /// A lease has passed since anything was under way.
    Settled,
}

impl What {
    pub(crate) fn renewal(id: u8, key: impl Into<Option<Key>>, of: Option<u8>, life: Life) -> What {
        let key = key.into();
        What::Renewal { id, key, of, life }
    }
}

/// What happened, and who did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) who: Thread,
    pub(crate) what: What,
}
