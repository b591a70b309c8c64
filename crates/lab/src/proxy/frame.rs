//! RESP frames: where a message ends, and what it says.
//!
//! A proxy that holds single requests must know where each one ends, however
//! TCP cut the bytes; it must not hold half of one. The scanner finds the ends
//! with one counter and no stack: it counts how many values are still owed, and
//! an array header just raises the debt. What a frame says is parsed only when
//! somebody wants to look at it, so passing traffic costs a scan and no copy.
//!
//! The `redis` crate's parser was looked at: it builds every value, has no way
//! to ask only for the end, and does not parse requests.

use lockproof_redis::{Multi, Reply};

/// Frames are bounded by this many bytes unless the caller says otherwise.
pub const FRAME_BYTES_MAX: usize = 16 << 20;

/// Arrays may be nested this deep.
const DEPTH_MAX: usize = 64;

/// Why bytes are not a RESP message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The frame is longer than the bound.
    #[error("a RESP frame is longer than {max} bytes; raise the proxy's frame bound")]
    TooLong {
        /// The bound.
        max: usize,
    },
    /// A request does not start with `*`.
    #[error(
        "a request starts with byte {byte:#04x}, not with '*': inline commands are not supported, \
         send RESP arrays"
    )]
    Inline {
        /// The first byte.
        byte: u8,
    },
    /// Something else is wrong.
    #[error("malformed RESP: {what}; is the other end a Redis server or client?")]
    Malformed {
        /// What is wrong.
        what: &'static str,
    },
}

const fn malformed(what: &'static str) -> FrameError {
    FrameError::Malformed { what }
}

/// Finds the end of one frame after another, over chunks of any size.
#[derive(Clone, Debug)]
pub struct Scanner {
    /// Everything before this offset into the frame has been understood.
    at: usize,
    /// No line ends before this offset; a line that comes byte by byte is read once.
    seen: usize,
    /// Values that are still owed before the frame ends.
    owed: usize,
    max: usize,
}

impl Scanner {
    /// A scanner for frames of at most `max` bytes.
    pub fn new(max: usize) -> Scanner {
        Scanner {
            at: 0,
            seen: 0,
            owed: 1,
            max,
        }
    }

    /// `bytes` starts at the beginning of a frame and holds all that has come
    /// of it so far. Gives the frame's length once it is complete, and is then
    /// ready for the next frame; `None` asks for more bytes.
    pub fn scan(&mut self, bytes: &[u8]) -> Result<Option<usize>, FrameError> {
        while self.owed > 0 {
            let Some((line, body)) = line_between(bytes, self.at, self.seen) else {
                // A CR may be the last byte.
                self.seen = bytes.len().saturating_sub(1);
                return self.more(bytes.len());
            };
            let (kind, rest) = line.split_first().ok_or(malformed("an empty line"))?;
            let mut owed = self.owed - 1;
            let mut end = body;
            match kind {
                b'+' | b'-' | b':' | b'_' | b'#' | b',' | b'(' => {}
                b'$' | b'=' | b'!' => {
                    if let Some(length) = length(rest)? {
                        end = body.saturating_add(length).saturating_add(2);
                        if end > bytes.len() {
                            return self.more(end);
                        }
                        if &bytes[end - 2..end] != b"\r\n" {
                            return Err(malformed("a bulk string does not end where it says"));
                        }
                    }
                }
                b'*' | b'~' | b'>' => owed = owed.saturating_add(length(rest)?.unwrap_or(0)),
                b'%' => owed = owed.saturating_add(length(rest)?.unwrap_or(0).saturating_mul(2)),
                // An attribute comes before the value that it belongs to.
                b'|' => {
                    let pairs = length(rest)?.unwrap_or(0);
                    owed = owed
                        .saturating_add(pairs.saturating_mul(2))
                        .saturating_add(1);
                }
                _ => return Err(malformed("an unknown type byte")),
            }
            // Each value owed takes three bytes at least (`_\r\n`).
            if end.saturating_add(owed.saturating_mul(3)) > self.max {
                return Err(FrameError::TooLong { max: self.max });
            }
            (self.owed, self.at) = (owed, end);
        }
        let length = self.at;
        (self.owed, self.at, self.seen) = (1, 0, 0);
        Ok(Some(length))
    }

    /// Asks for more, if a frame of at least `length` bytes is in bounds.
    fn more(&self, length: usize) -> Result<Option<usize>, FrameError> {
        if length > self.max {
            return Err(FrameError::TooLong { max: self.max });
        }
        Ok(None)
    }
}

/// The line (without CR LF) that starts at `from`, and the offset after it.
fn line_at(bytes: &[u8], from: usize) -> Option<(&[u8], usize)> {
    line_between(bytes, from, from)
}

/// The same if no line ends before `seen`.
fn line_between(bytes: &[u8], from: usize, seen: usize) -> Option<(&[u8], usize)> {
    let seen = seen.max(from);
    let length = memchr::memmem::find(bytes.get(seen..)?, b"\r\n")?;
    Some((&bytes[from..seen + length], seen + length + 2))
}

/// A length field; `None` for the -1 of a null.
fn length(digits: &[u8]) -> Result<Option<usize>, FrameError> {
    match integer(digits)? {
        -1 => Ok(None),
        length => usize::try_from(length)
            .map(Some)
            .map_err(|_| malformed("a negative length")),
    }
}

fn integer(digits: &[u8]) -> Result<i64, FrameError> {
    std::str::from_utf8(digits)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(malformed("a number that is none"))
}

/// The arguments of one whole request frame.
pub fn parse_request(frame: &[u8]) -> Result<Vec<Vec<u8>>, FrameError> {
    match frame.first() {
        Some(b'*') => {}
        Some(byte) => return Err(FrameError::Inline { byte: *byte }),
        None => return Err(malformed("an empty request")),
    }
    let (line, mut at) = line_at(frame, 0).ok_or(malformed("a line without an end"))?;
    let count = length(&line[1..])?.unwrap_or(0);
    let arguments = (0..count)
        .map(|_| argument(frame, &mut at))
        .collect::<Result<Vec<_>, _>>()?;
    match at == frame.len() {
        true => Ok(arguments),
        false => Err(malformed("bytes after the end of a frame")),
    }
}

/// A server takes bulk strings for arguments and nothing else, not even what would read
/// as the same text in a reply.
fn argument(frame: &[u8], at: &mut usize) -> Result<Vec<u8>, FrameError> {
    const NONE: FrameError = malformed("an argument that is no bulk string");
    let (line, body) = line_at(frame, *at).ok_or(malformed("a line without an end"))?;
    let digits = line.strip_prefix(b"$").ok_or(NONE)?;
    *at = body;
    bulk(frame, at, digits)?.map(<[u8]>::to_vec).ok_or(NONE)
}

/// What one whole reply frame says, in the terms of RESP2: a RESP3 map or set
/// is an array, a boolean an integer, a double a bulk string.
pub fn parse_reply(frame: &[u8]) -> Result<Reply, FrameError> {
    let mut at = 0;
    let reply = parse_value(frame, &mut at, 0)?;
    if at != frame.len() {
        return Err(malformed("bytes after the end of a frame"));
    }
    Ok(reply)
}

fn parse_value(bytes: &[u8], at: &mut usize, depth: usize) -> Result<Reply, FrameError> {
    if depth > DEPTH_MAX {
        return Err(malformed("arrays nested too deeply"));
    }
    let (line, body) = line_at(bytes, *at).ok_or(malformed("a line without an end"))?;
    let (kind, rest) = line.split_first().ok_or(malformed("an empty line"))?;
    *at = body;
    Ok(match kind {
        b'+' => Reply::Status(text(rest)),
        b'-' => Reply::Error(text(rest)),
        b':' => Reply::Int(integer(rest)?),
        b'_' => Reply::Nil,
        b'#' => Reply::Int(i64::from(rest == b"t")),
        b',' | b'(' => Reply::Bulk(rest.to_vec()),
        b'$' | b'=' | b'!' => match bulk(bytes, at, rest)? {
            None => Reply::Nil,
            Some(body) if *kind == b'!' => Reply::Error(text(body)),
            // A verbatim string begins with its format, `txt:`.
            Some(body) if *kind == b'=' => Reply::Bulk(body.get(4..).unwrap_or(body).to_vec()),
            Some(body) => Reply::Bulk(body.to_vec()),
        },
        b'*' | b'~' | b'>' => match length(rest)? {
            None => Reply::Nil,
            Some(count) => array(bytes, at, depth, count)?,
        },
        b'%' => array(
            bytes,
            at,
            depth,
            length(rest)?.unwrap_or(0).saturating_mul(2),
        )?,
        b'|' => {
            let pairs = length(rest)?.unwrap_or(0);
            array(bytes, at, depth, pairs.saturating_mul(2))?;
            parse_value(bytes, at, depth + 1)?
        }
        _ => return Err(malformed("an unknown type byte")),
    })
}

fn array(bytes: &[u8], at: &mut usize, depth: usize, count: usize) -> Result<Reply, FrameError> {
    (0..count)
        .map(|_| parse_value(bytes, at, depth + 1))
        .collect::<Result<Vec<_>, _>>()
        .map(Reply::Array)
}

fn bulk<'a>(
    bytes: &'a [u8],
    at: &mut usize,
    digits: &[u8],
) -> Result<Option<&'a [u8]>, FrameError> {
    let Some(length) = length(digits)? else {
        return Ok(None);
    };
    let end = at.saturating_add(length);
    let body = bytes
        .get(*at..end)
        .ok_or(malformed("a bulk string cut short"))?;
    if bytes.get(end..end.saturating_add(2)) != Some(b"\r\n") {
        return Err(malformed("a bulk string does not end where it says"));
    }
    *at = end + 2;
    Ok(Some(body))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The first bulk string of an array frame (empty if it begins otherwise), and
/// how many elements the array has: enough to know a command or a message by.
pub fn first_words(frame: &[u8]) -> (&[u8], usize) {
    let header = line_at(frame, 0).filter(|(line, _)| matches!(line, [b'*' | b'>', ..]));
    let Some((line, at)) = header else {
        return (&[], 0);
    };
    let count = length(&line[1..]).ok().flatten().unwrap_or(0);
    let word = line_at(frame, at)
        .filter(|(line, _)| line.first() == Some(&b'$'))
        .and_then(|(line, mut at)| bulk(frame, &mut at, &line[1..]).ok().flatten());
    (word.unwrap_or_default(), count)
}

/// The length of so many messages together; `None` if not all have come.
///
/// # Errors
/// If they are none, or longer than `max` bytes.
pub fn messages(bytes: &[u8], count: usize, max: usize) -> Result<Option<usize>, FrameError> {
    let mut at = 0;
    for _ in 0..count {
        match Scanner::new(max.saturating_sub(at)).scan(&bytes[at..])? {
            Some(length) => at += length,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

/// If requests begin with MULTI: the length of all of them up to EXEC, or `None` if they have
/// not come.
///
/// # Errors
/// If they are none, or longer than `max` bytes.
pub fn transaction(bytes: &[u8], max: usize) -> Result<Option<Option<usize>>, FrameError> {
    let mut at = 0;
    loop {
        let Some(length) = Scanner::new(max.saturating_sub(at)).scan(&bytes[at..])? else {
            return Ok((at > 0).then_some(None));
        };
        let is = |name: &str| is_word(&bytes[at..at + length], name);
        if at == 0 && !is("multi") {
            return Ok(None);
        }
        let ends = is("exec") || is("discard");
        at += length;
        if ends {
            return Ok(Some(Some(at)));
        }
    }
}

/// The request is this word alone.
fn is_word(frame: &[u8], name: &str) -> bool {
    let (word, count) = first_words(frame);
    count == 1 && word.eq_ignore_ascii_case(name.as_bytes())
}

/// How many requests a message is: more than one if it is a transaction.
pub fn requests(frame: &[u8]) -> usize {
    frames(frame).len()
}

fn frames(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut frames = Vec::new();
    while let Ok(Some(length @ 1..)) = Scanner::new(usize::MAX).scan(bytes) {
        let (frame, rest) = bytes.split_at(length);
        frames.push(frame);
        bytes = rest;
    }
    frames
}

/// The arguments of a message of a client: of a transaction, all of it in one command line.
///
/// # Errors
/// If it is none.
pub fn parse_requests(bytes: &[u8]) -> Result<Vec<Vec<u8>>, FrameError> {
    let (name, _) = first_words(bytes);
    if !name.eq_ignore_ascii_case(b"multi") {
        return parse_request(bytes);
    }
    match &frames(bytes)[..] {
        [multi, commands @ .., exec] if is_word(multi, "multi") && is_word(exec, "exec") => {
            let commands = commands.iter().map(|frame| parse_request(frame));
            let commands = commands.collect::<Result<Vec<_>, _>>()?;
            let multi = Multi {
                guarded: false,
                commands: commands.iter().map(Vec::as_slice).collect(),
            };
            Ok(multi.words())
        }
        _ => parse_request(bytes),
    }
}

/// The reply of a message of a server: of the replies to a transaction, that to EXEC.
///
/// # Errors
/// If it is none.
pub fn last_reply(bytes: &[u8]) -> Result<Reply, FrameError> {
    let alone = parse_reply(bytes);
    match frames(bytes).last() {
        Some(last) if alone.is_err() => parse_reply(last),
        _ => alone,
    }
}

/// Spells a command as a request frame.
pub fn encode_request<A: AsRef<[u8]>>(argv: &[A]) -> Vec<u8> {
    let mut frame = format!("*{}\r\n", argv.len()).into_bytes();
    for argument in argv {
        let argument = argument.as_ref();
        frame.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        frame.extend_from_slice(argument);
        frame.extend_from_slice(b"\r\n");
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bulk(text: &str) -> Reply {
        Reply::Bulk(text.into())
    }

    fn encode(reply: &Reply, out: &mut Vec<u8>) {
        match reply {
            Reply::Nil => out.extend_from_slice(b"$-1\r\n"),
            Reply::Status(text) => out.extend_from_slice(format!("+{text}\r\n").as_bytes()),
            Reply::Error(text) => out.extend_from_slice(format!("-{text}\r\n").as_bytes()),
            Reply::Int(value) => out.extend_from_slice(format!(":{value}\r\n").as_bytes()),
            Reply::Bulk(bytes) => {
                out.extend_from_slice(format!("${}\r\n", bytes.len()).as_bytes());
                out.extend_from_slice(bytes);
                out.extend_from_slice(b"\r\n");
            }
            Reply::Array(items) => {
                out.extend_from_slice(format!("*{}\r\n", items.len()).as_bytes());
                items.iter().for_each(|item| encode(item, out));
            }
        }
    }

    fn replies() -> impl Strategy<Value = Reply> {
        let leaf = prop_oneof![
            Just(Reply::Nil),
            "[a-zA-Z ]{0,9}".prop_map(Reply::Status),
            "[a-zA-Z ]{0,9}".prop_map(Reply::Error),
            any::<i64>().prop_map(Reply::Int),
            proptest::collection::vec(any::<u8>(), 0..20).prop_map(Reply::Bulk),
        ];
        leaf.prop_recursive(4, 20, 5, |inner| {
            proptest::collection::vec(inner, 0..5).prop_map(Reply::Array)
        })
    }

    proptest! {
        #[test]
        fn frames_are_found_whatever_the_chunks(
            wanted in proptest::collection::vec(replies(), 1..6),
            chunk in 1_usize..9,
        ) {
            let mut bytes = Vec::new();
            wanted.iter().for_each(|reply| encode(reply, &mut bytes));
            let (mut found, mut pending) = (Vec::new(), Vec::new());
            let mut scanner = Scanner::new(FRAME_BYTES_MAX);
            for piece in bytes.chunks(chunk) {
                pending.extend_from_slice(piece);
                while let Some(end) = scanner.scan(&pending).unwrap() {
                    found.push(parse_reply(&pending[..end]).unwrap());
                    pending.drain(..end);
                }
            }
            prop_assert_eq!(found, wanted);
            prop_assert!(pending.is_empty());
        }

        #[test]
        fn noise_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Scanner::new(1 << 10).scan(&bytes);
            let _ = parse_reply(&bytes);
            let _ = parse_request(&bytes);
        }

        #[test]
        fn a_request_comes_back_as_it_went(
            argv in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..9), 1..5),
        ) {
            prop_assert_eq!(parse_request(&encode_request(&argv)).unwrap(), argv);
        }
    }

    #[test]
    fn resp3_values_are_told_in_terms_of_resp2() {
        let told = |frame: &str| parse_reply(frame.as_bytes()).unwrap();
        assert_eq!(told("_\r\n"), Reply::Nil);
        assert_eq!(told("#t\r\n"), Reply::Int(1));
        assert_eq!(told(",1.5\r\n"), bulk("1.5"));
        assert_eq!(told("=6\r\ntxt:ab\r\n"), bulk("ab"));
        assert_eq!(told("!3\r\nbad\r\n"), Reply::Error("bad".into()));
        assert_eq!(
            told("%1\r\n+k\r\n:2\r\n"),
            Reply::Array(vec![Reply::Status("k".into()), Reply::Int(2)])
        );
        let attributed = "|1\r\n+ttl\r\n:9\r\n$1\r\nv\r\n";
        assert_eq!(told(attributed), bulk("v"));
        let mut scanner = Scanner::new(100);
        assert_eq!(
            scanner.scan(attributed.as_bytes()),
            Ok(Some(attributed.len()))
        );
    }

    #[test]
    fn a_transaction_is_one_message_and_so_are_its_replies() {
        let words = |line: &str| encode_request(&line.split(' ').collect::<Vec<_>>());
        let whole = ["MULTI", "DEL a b", "PING", "EXEC"].map(words).concat();
        let bytes = [whole.clone(), words("GET a")].concat();
        for end in 0..bytes.len() {
            let found = transaction(&bytes[..end], 1 << 10).unwrap();
            // Nobody knows before the first request has come that it is MULTI.
            let expected = match end {
                _ if end >= whole.len() => Some(Some(whole.len())),
                _ if end >= words("MULTI").len() => Some(None),
                _ => None,
            };
            assert_eq!(found, expected, "{end}");
        }
        assert_eq!(transaction(&words("GET MULTI"), 1 << 10), Ok(None));
        assert!(transaction(&bytes, 20).is_err());
        let argv = parse_requests(&whole).unwrap();
        let text = argv.iter().map(|word| String::from_utf8_lossy(word));
        let text = text.collect::<Vec<_>>().join(" ");
        assert_eq!(text, "MULTI plain 3 DEL a b 1 PING");
        assert_eq!(requests(&whole), 4);
        assert_eq!(parse_requests(&words("GET a")).unwrap().len(), 2);
        let replies = b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n+PONG\r\n";
        assert_eq!(messages(replies, 4, 1 << 10), Ok(Some(replies.len())));
        assert_eq!(messages(&replies[..30], 4, 1 << 10), Ok(None));
        let last = Reply::Array(vec![Reply::Int(1), Reply::Status("PONG".into())]);
        assert_eq!(last_reply(replies).unwrap(), last);
        assert_eq!(last_reply(b":3\r\n").unwrap(), Reply::Int(3));
    }

    #[test]
    fn what_is_too_long_is_refused_before_it_arrives() {
        let too_long = Err(FrameError::TooLong { max: 100 });
        assert_eq!(Scanner::new(100).scan(b"$1000\r\n"), too_long);
        assert_eq!(
            Scanner::new(100).scan(b"*9223372036854775807\r\n"),
            too_long
        );
        assert_eq!(Scanner::new(100).scan(&[b'+'; 200]), too_long);
    }

    #[test]
    fn inline_commands_and_other_protocols_are_named() {
        let inline = parse_request(b"PING\r\n").unwrap_err();
        assert!(inline.to_string().contains("inline"), "{inline}");
        let number = parse_request(b"*1\r\n(42\r\n").unwrap_err();
        assert!(number.to_string().contains("no bulk string"), "{number}");
        assert!(Scanner::new(100).scan(b"HTTP/1.1 200 OK\r\n").is_err());
        assert!(Scanner::new(100).scan(b"$1\r\nabcd").is_err());
        assert!(Scanner::new(100).scan(b"$-2\r\n").is_err());
    }
}
