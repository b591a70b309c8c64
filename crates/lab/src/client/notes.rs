//! What a worker notes of the commands that its lock sends, for the history of a
//! free run: when it sent them, and when and how they ended.
//!
//! A note is a line of JSON, appended to a file or pipe in one write before the
//! command is on its way. So a worker that is killed leaves a note of everything
//! that may be executed. The adapter protocol was not used for this: its messages
//! lie in the pipe to the actor, which dies together with the worker, and a note
//! that is lost would be a command that nobody has sent.
//!
//! A pipe takes a line of up to 4,096 bytes whole, also when several processes
//! write (POSIX.1, PIPE_BUF); long words are noted by their SHA-1.

use lockproof_redis::Reply;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha1::{Digest, Sha1};

/// An argument with more bytes is noted as `sha1:` and its digest, as EVALSHA
/// would name a script.
pub const WORD_BYTES_MAX: usize = 64;
/// Arguments beyond so many are noted as one digest.
pub const WORDS_MAX: usize = 24;
/// A reply with more bytes of JSON is noted by its digest.
pub const REPLY_BYTES_MAX: usize = 512;

/// A line has no more bytes than a pipe takes whole.
pub const LINE_BYTES_MAX: usize = 4096;

/// What happened to a command, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// Nanoseconds of the machine's monotonic clock.
    pub at_ns: u64,
    /// Which server of the lock's.
    pub node: u8,
    /// The command's number, from 1, which no other of this worker has.
    pub number: u64,
    /// What happened to it.
    pub news: News,
}

/// What happened to a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum News {
    /// It is about to be sent: name and arguments.
    Sent(Vec<String>),
    /// Its reply was read, perhaps after it was given up.
    Reply(Value),
    /// It was surely not executed.
    Failed,
    /// Nobody waits for its reply any more.
    GivenUp,
}

/// The name and arguments of a command as they are noted.
pub fn words(argv: &[Vec<u8>]) -> Vec<String> {
    let (first, rest) = argv.split_at(argv.len().min(WORDS_MAX));
    let mut words: Vec<String> = first.iter().map(|word| shorten(word)).collect();
    if !rest.is_empty() {
        let mut digest = Sha1::new();
        rest.iter().for_each(|word| digest.update(word));
        words.push(named(digest));
    }
    words
}

/// A reply as it is noted: in the words of traces, and null if there is none.
pub fn reply(reply: &Reply) -> Value {
    if *reply == Reply::Nil {
        return Value::Null;
    }
    let Ok(text) = serde_json::to_string(reply) else {
        return Value::Null;
    };
    if text.len() > REPLY_BYTES_MAX {
        return Value::String(named(Sha1::new_with_prefix(&text)));
    }
    serde_json::from_str(&text).unwrap_or_default()
}

/// A note as one line, which a pipe takes whole: arguments that leave no room for
/// that are left out, the last first.
pub fn line(note: &Note) -> Vec<u8> {
    let mut note = note.clone();
    loop {
        // A note is plain data, which serde_json always writes.
        let mut line = serde_json::to_vec(&note).unwrap_or_default();
        line.push(b'\n');
        match &mut note.news {
            News::Sent(words) if line.len() > LINE_BYTES_MAX => drop(words.pop()),
            _ => return line,
        }
    }
}

fn shorten(word: &[u8]) -> String {
    match word.len() > WORD_BYTES_MAX {
        true => named(Sha1::new_with_prefix(word)),
        false => String::from_utf8_lossy(word).into_owned(),
    }
}

fn named(digest: Sha1) -> String {
    let digest: [u8; 20] = digest.finalize().into();
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha1:{hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_are_named_and_the_longest_line_goes_through_a_pipe_whole() {
        let script = b"return redis.call('get', KEYS[1]) -- and so on, for more than 64 bytes";
        let argv = [
            b"EVAL".to_vec(),
            script.to_vec(),
            b"1".to_vec(),
            b"k".to_vec(),
        ];
        let digest = "sha1:".len() + 40;
        let noted = words(&argv);
        assert_eq!((&*noted[0], &*noted[2], &*noted[3]), ("EVAL", "1", "k"));
        assert!(noted[1].starts_with("sha1:") && noted[1].len() == digest);
        // Control characters take the most room in JSON.
        let worst = vec![vec![1; WORD_BYTES_MAX]; 1_000];
        let text = serde_json::to_string(&words(&worst)).unwrap();
        assert!(text.len() > 4096, "else nothing would have to be cut");
        let line = line(&Note {
            at_ns: u64::MAX,
            node: u8::MAX,
            number: u64::MAX,
            news: News::Sent(words(&worst)),
        });
        assert!(line.len() <= LINE_BYTES_MAX && line.ends_with(b"\n"));
        let note: Note = serde_json::from_slice(&line).unwrap();
        assert!(matches!(note.news, News::Sent(words) if words.len() > 4));
    }

    #[test]
    fn a_reply_is_noted_as_traces_write_it() {
        assert_eq!(reply(&Reply::Nil), Value::Null);
        assert_eq!(reply(&Reply::Int(1)), serde_json::json!({ "int": 1 }));
        let long = reply(&Reply::Bulk(vec![b'x'; 1_000]));
        assert!(long.as_str().unwrap().starts_with("sha1:"));
    }
}
