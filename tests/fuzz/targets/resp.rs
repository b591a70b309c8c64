//! RESP frames, however they are cut; requests among them go to a formal server.

use lockproof_lab::proxy::frame::{
    Scanner, encode_request, first_words, parse_reply, parse_request,
};
use lockproof_redis::{Reply, ScriptEngine, Server};

use super::{Form, Target, same};

pub const TARGET: Target = Target {
    name: "resp",
    run,
    form: Form::Bytes,
    seeds: &[],
    words: &[
        "\r\n",
        "$-1\r\n",
        "*-1\r\n",
        "*0\r\n",
        "$0\r\n\r\n",
        "+OK\r\n",
        "-ERR x\r\n",
        ":1\r\n",
        "_\r\n",
        "#t\r\n",
        ",1.5\r\n",
        "%1\r\n",
        "~1\r\n",
        ">2\r\n",
        "|1\r\n",
        "=6\r\ntxt:ab\r\n",
        "!3\r\nbad\r\n",
        "(1\r\n",
        "*1\r\n",
        "$9223372036854775807\r\n",
        "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n",
        "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n",
        "*1\r\n$4\r\nPING\r\n",
        "$2\r\nPX\r\n",
        "$2\r\nEX\r\n",
    ],
    inputs: 3000,
};

/// Small, so that frames beyond the bound are tried too.
const BYTES_MAX: usize = 4096;

/// The frames, and whether the stream was refused after them. For what reason may depend on
/// the cut: half of a line can be too long before it is known to be none.
type Frames = (Vec<Vec<u8>>, bool);

fn run(input: &[u8]) {
    let whole = frames(input, input.len().max(1));
    let sizes: &[usize] = match input.len() {
        ..=512 => &[1, 2, 3, 7, 64],
        _ => &[61, 1000],
    };
    for size in sizes.iter().copied() {
        same("cut in pieces", &whole, &frames(input, size));
    }
    if input.len() <= 48 {
        for at in 1..input.len() {
            same("cut in two", &whole, &in_two(input, at));
        }
    }
    let mut server = Server::new(1_700_000_000_000);
    let mut engine = ScriptEngine::new().expect("it always starts");
    for frame in &whole.0 {
        said(frame, &mut server, &mut engine);
    }
    if let Ok(reply) = parse_reply(input) {
        let found = Scanner::new(usize::MAX).scan(input);
        same(
            "what can be read is one frame",
            &found,
            &Ok(Some(input.len())),
        );
        drop(reply);
    }
    let _ = first_words(input);
}

/// The frames of a stream that comes in pieces of this size.
fn frames(input: &[u8], size: usize) -> Frames {
    collect(input.chunks(size))
}

fn in_two(input: &[u8], at: usize) -> Frames {
    collect([&input[..at], &input[at..]].into_iter())
}

fn collect<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Frames {
    let (mut found, mut pending) = (Vec::new(), Vec::new());
    let mut scanner = Scanner::new(BYTES_MAX);
    for piece in pieces {
        pending.extend_from_slice(piece);
        loop {
            if pending.is_empty() {
                break;
            }
            match scanner.scan(&pending) {
                Ok(Some(end)) => found.push(pending.drain(..end).collect()),
                Ok(None) => break,
                Err(_) => return (found, true),
            }
        }
    }
    (found, false)
}

fn said(frame: &[u8], server: &mut Server, engine: &mut ScriptEngine) {
    let (word, count) = first_words(frame);
    let word = word.to_vec();
    if let Ok(argv) = parse_request(frame) {
        let again = parse_request(&encode_request(&argv)).expect("a request that we wrote");
        same("a request written again", &argv, &again);
        if let Some(first) = argv.first() {
            same("its first word", &word, first);
            assert_eq!(count, argv.len());
            let reply = server.execute(engine, 0, &argv);
            one_line(&reply);
            server.advance(1);
        }
    }
    let _ = parse_reply(frame);
}

/// A status or an error that breaks the line would break the stream.
fn one_line(reply: &Reply) {
    match reply {
        Reply::Status(text) | Reply::Error(text) => {
            assert!(!text.contains(['\r', '\n']), "{text:?} is more than a line");
        }
        Reply::Array(items) => items.iter().for_each(one_line),
        Reply::Nil | Reply::Int(_) | Reply::Bulk(_) => {}
    }
}
