//! An execution in words: numbered steps, one column a thread.
//!
//! A story of `check` names who acts beside each step. Here it matters most how the threads
//! overlap, so each thread has a narrow column; its name stands in it where it acts, and
//! what happens stands right of the columns. Ticks are rules across the page, as there.

use std::fmt::Write;

use crate::claims::Claim;
use crate::event::{Call, Command, Effect, Event, Field, Key, Life, Reply, Thread, Value, What};
use crate::explore::Found;
use crate::world::LISTED;

/// What a story is about.
#[derive(Clone, Copy, Debug)]
pub struct Story<'s> {
    /// The handle and its variant, as a title names them.
    pub handle: &'s str,
    /// The scene's name.
    pub scene: &'s str,
    /// What the threads do.
    pub about: &'s str,
    /// The claim that is violated.
    pub claim: Claim,
}

/// Tells an execution that violates a claim.
pub fn story(found: &Found, about: &Story<'_>) -> String {
    let info = about.claim.info();
    let mut out = String::new();
    let threads = columns(&found.events);
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{} violates {}", about.handle, info.id);
    let _ = writeln!(out, "{}: {}", about.scene, about.about);
    let mut number = 0;
    for event in &found.events {
        number += 1;
        let words = words(event);
        if let What::Tick(now) = event.what {
            let _ = writeln!(out, "{number:>4}  ── tick {now} {}", "─".repeat(RULE));
            continue;
        }
        let mut line = format!("{number:>4}  ");
        for thread in &threads {
            let name = if *thread == event.who {
                name(*thread)
            } else {
                "·".to_owned()
            };
            let _ = write!(line, "{name:<COLUMN$}");
        }
        let _ = writeln!(out, "{line}{words}");
    }
    let _ = writeln!(out, "✗ step {number} violates {}", info.id);
    let _ = writeln!(out, "  {}", info.meaning);
    out + &preemptions(found)
}

/// How the execution was found: it may not be the shortest.
fn preemptions(found: &Found) -> String {
    match found.preemptions {
        Some(0) => "  No thread is preempted.\n".to_owned(),
        Some(1) => "  One thread is preempted, once; without that it does not happen.\n".to_owned(),
        Some(count) => format!("  Threads are preempted {count} times; it takes no fewer.\n"),
        None => "  Among many preemptions; there may be a shorter story.\n".to_owned(),
    }
}

/// Columns of a thread.
const COLUMN: usize = 7;
/// Length of a tick's rule after its number.
const RULE: usize = 60;

/// The threads that act, callers first, the clock last.
fn columns(events: &[Event]) -> Vec<Thread> {
    let mut threads: Vec<Thread> = events.iter().map(|event| event.who).collect();
    threads.sort_unstable();
    threads.dedup();
    threads
}

fn name(thread: Thread) -> String {
    match thread {
        Thread::Caller(number) => format!("T{number}"),
        Thread::Renewal(number) => format!("R{number}"),
        Thread::Clock => "clock".to_owned(),
    }
}

fn key_name(key: Key) -> &'static str {
    match key {
        Key::A => "a",
        Key::B => "b",
    }
}

fn call_name(call: Call) -> &'static str {
    match call {
        Call::Lock => "lock",
        Call::Unlock => "unlock",
    }
}

fn words(event: &Event) -> String {
    match event.what {
        What::Note(text) => text.to_owned(),
        What::Calls(call, key) => format!("calls {}({})", call_name(call), key_name(key)),
        What::Releases(key) => {
            format!("calls unlock({}), and holds it no more", key_name(key))
        }
        What::Answers {
            call, key, answer, ..
        } => format!("{}({}) returns {answer}", call_name(call), key_name(key)),
        What::Command {
            command,
            key,
            value,
            reply,
            effect,
        } => {
            let command = command_words(command, key_name(key), value);
            format!("{command} = {}{}", reply_words(reply), effect_words(effect))
        }
        What::Told { key, own } => {
            let whose = if own {
                "which it is"
            } else {
                "which it is not"
            };
            let key = key_name(key);
            format!("is told from memory that {key} is its own, {whose}")
        }
        What::Tick(now) => format!("tick {now}"),
        What::LeaseEnds(key) => format!("the lease of {} ends", key_name(key)),
        What::Renewal { id, key, of, life } => renewal_words(id, key, of, life, event.who),
        What::TooLate(id) => format!("is too late to cancel timer {id}"),
        What::Quiet => "all threads are at rest".to_owned(),
        What::Settled => "a lease has passed since".to_owned(),
    }
}

fn renewal_words(id: u8, key: Option<Key>, of: Option<u8>, life: Life, who: Thread) -> String {
    let renewed = key.map_or("all locks".to_owned(), |key| key_name(key).to_owned());
    match (life, of, who) {
        (Life::Starts, Some(_), _) => format!("starts R{id}, a thread that renews {renewed}"),
        (Life::Starts, None, _) => format!("schedules timer {id} to renew {renewed}"),
        (Life::Listed, ..) => format!("puts an entry for {renewed} into the map"),
        (Life::Ends(_), ..) if key.is_some() && id >= LISTED => {
            format!("removes the entry for {renewed} from the map")
        }
        (Life::Fires, ..) => format!("renewal {id} is due"),
        (Life::Ends(why), _, Thread::Renewal(_)) => format!("ends: {why}"),
        (Life::Ends(why), ..) => format!("timer {id} ends: {why}"),
    }
}

fn field(value: Value) -> String {
    match value.field {
        Field::Thread(number) => format!("T{number}"),
        Field::Token(thread, number) => format!("T{thread}#{number}"),
        Field::Client => "client".to_owned(),
    }
}

fn command_words(command: Command, key: &str, value: Value) -> String {
    let value = field(value);
    match command {
        Command::SetNx => format!("SET {key} {value} NX EX"),
        Command::DeleteIf => format!("if {key} is {value}, DEL {key}"),
        Command::ExpireIf => format!("if {key} is {value}, EXPIRE {key}"),
        Command::Expire => format!("EXPIRE {key}, for {value}"),
        Command::LockScript => format!("lock script on {key} for {value}"),
        Command::UnlockScript => format!("unlock script on {key} for {value}"),
    }
}

fn reply_words(reply: Reply) -> String {
    match reply {
        Reply::Ok => "OK".to_owned(),
        Reply::Nil => "nil".to_owned(),
        Reply::One => "1".to_owned(),
        Reply::Zero => "0".to_owned(),
        Reply::Count(1) => "held once".to_owned(),
        Reply::Count(count) => format!("held {count} times"),
        Reply::Busy => "another's".to_owned(),
    }
}

fn effect_words(effect: Effect) -> String {
    match effect {
        Effect::Extended { own: false, of } => format!(": T{of}'s later hold is extended"),
        Effect::Took { .. } | Effect::Extended { .. } | Effect::None => String::new(),
    }
}
