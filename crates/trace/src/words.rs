//! The words of a trace: one short phrase for each command, reply and fault.
//!
//! The story, the diagram, the Markdown report and the Explorer page all say
//! what happened in a step. They take the words from here, so that a reader who
//! goes from one to another meets the same names, and a new fault needs its
//! words once. Nothing here lays anything out.
//!
//! Every text that comes from a trace passes through [`printable`]: a trace is
//! a file from somewhere, and a terminal obeys escape sequences.

use lockproof_redis::{Multi, Reply};

use super::{Event, FaultEvent, Outcome, Trace};

/// The client's letter: A to Z, then A1 to Z1, and so on.
pub fn client(index: u8) -> String {
    let letter = char::from(b'A' + index % 26);
    match index / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}

/// The node's name, counted from 1 as lock files count servers.
pub fn node(index: u8) -> String {
    format!("N{}", u16::from(index) + 1)
}

/// The text with control characters written as `\n`, `\u{1b}` and the like.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // Besides controls: the bidirectional overrides, which would let a text
        // show in another order than it is stored.
        if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// The first `max` characters of a text; an ellipsis replaces the rest.
pub fn shorten(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_string();
    }
    let kept: String = text.chars().take(max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// A reply as redis-cli users know it, on one line.
pub fn reply(reply: &Reply) -> String {
    match reply {
        Reply::Nil => "nil".into(),
        Reply::Status(text) => printable(text),
        Reply::Error(text) => format!("error {}", shorten(&printable(text), 40)),
        Reply::Int(value) => value.to_string(),
        Reply::Bulk(bytes) => {
            let text = printable(&String::from_utf8_lossy(bytes));
            format!("\"{}\"", shorten(&text, 32))
        }
        Reply::Array(items) => {
            let items: Vec<String> = items.iter().map(self::reply).collect();
            format!("[{}]", shorten(&items.join(", "), 60))
        }
    }
}

/// A command on one line. A script's text is replaced by its first line (its
/// comment, if it opens with one) in angle quotes, a hash by its beginning. A transaction is
/// told as what goes over the wire.
pub fn command(argv: &[String]) -> String {
    if let Some(multi) = Multi::of(argv) {
        let commands = multi.commands.into_iter().map(command);
        let all: Vec<String> = commands.collect();
        return format!("MULTI; {}; EXEC", all.join("; "));
    }
    let Some((name, args)) = argv.split_first() else {
        return "(empty command)".into();
    };
    let name = printable(&name.to_uppercase());
    let plain = |args: &[String]| -> Vec<String> {
        args.iter()
            .map(|a| shorten(&quote_if_needed(a), 28))
            .collect()
    };
    let mut words = vec![name.clone()];
    match (name.as_str(), args) {
        ("EVAL" | "EVAL_RO", [script, _count, rest @ ..]) => {
            words.push(format!("‹{}›", script_name(script)));
            words.extend(plain(rest));
        }
        ("EVALSHA" | "EVALSHA_RO", [sha, _count, rest @ ..]) => {
            words.push(format!("‹{}›", shorten(&printable(sha), 9)));
            words.extend(plain(rest));
        }
        ("SCRIPT", [verb, script]) if verb.eq_ignore_ascii_case("load") => {
            words.push(verb.to_uppercase());
            words.push(format!("‹{}›", script_name(script)));
        }
        _ => words.extend(plain(args)),
    }
    words.join(" ")
}

/// Only the command's name, for places without room: `SETNX`, or the script's name.
pub fn command_short(argv: &[String]) -> String {
    match argv {
        [] => "?".into(),
        [name, script, ..] if name.eq_ignore_ascii_case("eval") => {
            format!("‹{}›", shorten(&script_name(script), 16))
        }
        [name, ..] => shorten(&printable(&name.to_uppercase()), 16),
    }
}

fn quote_if_needed(arg: &str) -> String {
    let text = printable(arg);
    if text.is_empty() || text.contains(' ') {
        format!("'{text}'")
    } else {
        text
    }
}

/// A script has no name on the wire. A first line such as `-- release_if_owner:
/// ...` names it; without one its first line of code must do.
fn script_name(script: &str) -> String {
    let first = script
        .lines()
        .map(str::trim)
        .find(|line| !line.trim_start_matches('-').trim().is_empty())
        .unwrap_or("");
    match first.strip_prefix("--") {
        Some(comment) => {
            let comment = comment.trim_start_matches(['-', '[']).trim();
            let name = comment.split([':', '(', '.']).next().unwrap_or(comment);
            shorten(&printable(name.trim()), 28)
        }
        None => shorten(&printable(first), 28),
    }
}

/// How an operation ended.
pub fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Held { validity_ms, fence } => {
            let mut text = String::from("held");
            if let Some(ms) = validity_ms {
                text += &format!(", valid for {ms} ms");
            }
            if let Some(fence) = fence {
                text += &format!(", fence {fence}");
            }
            text
        }
        Outcome::Busy => "busy".into(),
        Outcome::Failed { reason } => format!("failed: {}", shorten(&printable(reason), 48)),
        Outcome::Lost => "lost".into(),
        Outcome::Done { effect: Some(true) } => "done".into(),
        Outcome::Done {
            effect: Some(false),
        } => "done, without effect".into(),
        Outcome::Done { effect: None } => "done, effect not stated".into(),
    }
}

/// `1 tick`, `2 ticks`.
pub fn plural(count: u32, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        n => format!("{n} {noun}s"),
    }
}

/// Thousands with thin separators that every font has: `9 466 726`.
pub fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{a0}');
        }
        out.push(c);
    }
    out
}

/// An assumption as people say it: `delay ×2 (3 ticks)`.
pub fn assumption(a: &super::Assumption) -> String {
    let mut text = printable(&a.name);
    if a.budget != 1 {
        text += &format!(" ×{}", a.budget);
    }
    if a.size > 0 {
        let unit = if a.name.starts_with("failover") {
            "write"
        } else {
            "tick"
        };
        text += &format!(" ({})", plural(u32::from(a.size), unit));
    }
    text
}

/// A set of assumptions, or `no faults` for the empty one.
pub fn assumptions(set: &[super::Assumption]) -> String {
    if set.is_empty() {
        return "no faults".into();
    }
    let names: Vec<String> = set.iter().map(assumption).collect();
    names.join(" + ")
}

/// The command of a message, looked up in the trace's `Send` steps.
pub fn command_of(trace: &Trace, wanted: u32) -> Option<&[String]> {
    trace.steps.iter().find_map(|step| match &step.event {
        Event::Send { message, argv, .. } if *message == wanted => Some(argv.as_slice()),
        _ => None,
    })
}

/// Channel and text of a published message, looked up in the trace's `Publish` steps.
fn published(trace: &Trace, wanted: u32) -> Option<(&str, &str)> {
    trace.steps.iter().find_map(|step| match &step.event {
        Event::Publish {
            message,
            channel,
            payload,
            ..
        } if *message == wanted => Some((channel.as_str(), payload.as_str())),
        _ => None,
    })
}

fn said(channel: &str, payload: &str) -> String {
    let [channel, payload] = [channel, payload].map(|text| shorten(&printable(text), 40));
    format!("the message {payload:?} on {channel}")
}

/// What a step does, in a phrase that does not repeat who acts.
pub fn event(trace: &Trace, event: &Event) -> String {
    let name = |message: &u32| match (command_of(trace, *message), published(trace, *message)) {
        (Some(argv), _) => command_short(argv),
        (None, Some((channel, payload))) => said(channel, payload),
        (None, None) => format!("message {message}"),
    };
    match event {
        Event::Call { client, op, token } => match token {
            Some(token) => format!(
                "calls {}{} (token {})",
                printable(op),
                match trace.setup.objects {
                    Some(objects) => objects.purpose(*client, &trace.setup),
                    None => String::new(),
                },
                shorten(&printable(token), 20)
            ),
            None => format!("calls {}", printable(op)),
        },
        Event::Wake {
            timed_out: true, ..
        } => "gives up waiting: time-out".into(),
        Event::Choose { value, .. } => format!("draws {value} at random"),
        Event::Wake { thread: 0, .. } => "wakes".into(),
        Event::Wake { thread, .. } => format!("its thread {thread} wakes"),
        Event::Send { argv, .. } => command(argv),
        Event::Execute {
            client: c,
            message,
            reply: r,
            ..
        } => format!("runs {}'s {} = {}", client(*c), name(message), reply(r)),
        Event::Block {
            client: c, message, ..
        } => format!("holds {}'s {} back", client(*c), name(message)),
        Event::HangUp {
            client: c, message, ..
        } => format!(
            "forgets {}'s {}, whose connection has ended",
            client(*c),
            name(message)
        ),
        Event::Publish {
            client: c,
            channel,
            payload,
            ..
        } => format!("sends {} {}", client(*c), said(channel, payload)),
        Event::Deliver { message, .. } if published(trace, *message).is_some() => {
            let (channel, payload) = published(trace, *message).unwrap_or_default();
            format!("hears {}", said(channel, payload))
        }
        Event::Deliver {
            reply: r,
            ignored: false,
            ..
        } => format!("reads {}", reply(r)),
        Event::Deliver {
            reply: r, message, ..
        } => format!("{} comes too late for {}", reply(r), name(message)),
        Event::Fail {
            message, definite, ..
        } => {
            let multi = command_of(trace, *message).and_then(Multi::of);
            let fate = if *definite && multi.is_some_and(|multi| multi.guarded) {
                "not sent, for the connection that watched is gone"
            } else if *definite {
                "refused, surely not executed"
            } else {
                "broken off, outcome unknown"
            };
            format!("{}: {fate}", name(message))
        }
        Event::Outcome {
            op,
            outcome: Outcome::Done { effect: Some(is) },
            ..
        } if op == "is_held" => format!("is_held ends: {}", if *is { "yes" } else { "no" }),
        Event::Outcome { op, outcome: o, .. } => format!("{} ends: {}", printable(op), outcome(o)),
        Event::Assertion { text, .. } => {
            format!(
                "asserts, and it is not so: {}",
                shorten(&printable(text), 60)
            )
        }
        Event::Write { refused: true, .. } => {
            "would write to the guarded counter, which refuses its fence: it has seen a higher one"
                .into()
        }
        Event::Write { .. } => "writes to the guarded counter".into(),
        Event::Tick => "all clocks advance by one tick".into(),
        Event::Fault { fault: f } => {
            let message = match f {
                FaultEvent::Lose { message, .. } | FaultEvent::Delay { message, .. } => {
                    name(message)
                }
                FaultEvent::ClientPause { held, .. } => {
                    held.iter().map(name).collect::<Vec<_>>().join(" and ")
                }
                _ => String::new(),
            };
            f.told(&message).sentence
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_told_as_it_goes_over_the_wire() {
        let argv = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let multi = argv("MULTI watched 2 DEL lock 1 PING");
        assert_eq!(command(&multi), "MULTI; DEL lock; PING; EXEC");
        assert_eq!(command_short(&multi), "MULTI");
        assert_eq!(command(&argv("MULTI watched 9 DEL")), "MULTI watched 9 DEL");
    }
}
