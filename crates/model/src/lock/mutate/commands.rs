//! Changes of what a lock asks Redis for: the command, its options, keys and arguments.

use std::collections::BTreeSet;
use std::ops::Range;

use lockproof_lua::outline::What;

use super::{Change, Operator, Source};

/// Commands that are easily taken for each other: another unit, no condition, the other direction.
const COMMANDS: [(&str, &str); 13] = [
    ("EXPIRE", "PEXPIRE"),
    ("EXPIREAT", "PEXPIREAT"),
    ("SETEX", "PSETEX"),
    ("TTL", "PTTL"),
    ("SETNX", "SET"),
    ("HSETNX", "HSET"),
    ("MSETNX", "MSET"),
    ("GETSET", "SET"),
    ("GETDEL", "GET"),
    ("INCR", "DECR"),
    ("INCRBY", "DECRBY"),
    ("LPUSH", "RPUSH"),
    ("LPOP", "RPOP"),
];

/// An option of a command: how many values follow it, and what may stand in its place. An empty text
/// is nothing at all; `*` stands for its values.
const OPTIONS: [(&str, usize, &[&str]); 10] = [
    ("NX", 0, &["", "XX"]),
    ("XX", 0, &["", "NX"]),
    ("PX", 1, &["", "EX *", "KEEPTTL"]),
    ("EX", 1, &["", "PX *", "KEEPTTL"]),
    ("PXAT", 1, &["", "PX *", "KEEPTTL"]),
    ("EXAT", 1, &["", "EX *", "KEEPTTL"]),
    ("KEEPTTL", 0, &[""]),
    ("IFEQ", 1, &["", "NX"]),
    ("GT", 0, &["", "LT"]),
    ("LT", 0, &["", "GT"]),
];

/// The words that send a command, and that run a script.
const SENDERS: [&str; 4] = ["redis", "call", "pcall", "script"];

pub(super) fn changes(source: &Source<'_>) -> Vec<Change> {
    let mut changes = elements(source);
    changes.extend(fields(source));
    for part in source.parts() {
        let What::Call { callee, arguments } = &part.what else {
            continue;
        };
        let is_part = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        let called = source.slice(callee).rsplit(is_part).next();
        if called == Some("multi") {
            changes.extend(transaction(source, arguments));
            continue;
        }
        let Some(sender) = SENDERS.iter().find(|known| called == Some(known)) else {
            continue;
        };
        let [first, rest @ ..] = arguments.as_slice() else {
            continue;
        };
        changes.extend(match *sender {
            "script" => neighbours(source, rest),
            _ => sent(source, first, rest),
        });
        for list in lists(source, rest) {
            changes.extend(neighbours(source, list));
        }
    }
    changes
}

/// One command: its name, its options, its arguments.
fn sent(source: &Source<'_>, name: &Range<usize>, rest: &[Range<usize>]) -> Vec<Change> {
    let mut changes = command(source, name);
    changes.extend(options(source, name, rest));
    changes.extend(neighbours(source, rest));
    changes
}

/// The commands of `multi{ .. }`: each is changed like one that is sent alone, is left out if it is
/// not the only one, or changes places with the next.
fn transaction(source: &Source<'_>, arguments: &[Range<usize>]) -> Vec<Change> {
    let mut changes = Vec::new();
    for commands in lists(source, arguments) {
        for words in lists(source, commands) {
            if let [name, rest @ ..] = words.as_slice() {
                changes.extend(sent(source, name, rest));
            }
        }
        for pair in commands.windows(2) {
            let [one, other] = pair else { continue };
            let between = source.slice(&(one.end..other.start));
            changes.push(Change {
                operator: Operator::Order,
                range: one.start..other.end,
                after: format!("{}{between}{}", source.slice(other), source.slice(one)),
            });
        }
        changes.extend(left_out(commands));
    }
    changes
}

/// Each of several entries left out, with one comma.
fn left_out(entries: &[Range<usize>]) -> Vec<Change> {
    let places = 0..if entries.len() < 2 { 0 } else { entries.len() };
    places
        .map(|at| Change {
            operator: Operator::Drop,
            range: match at {
                0 => entries[0].start..entries[1].start,
                _ => entries[at - 1].end..entries[at].end,
            },
            after: String::new(),
        })
        .collect()
}

/// The text that an argument is, if it is nothing else.
fn literal<'s>(source: &'s Source<'_>, range: &Range<usize>) -> Option<&'s [u8]> {
    source.at(range).find_map(|part| match &part.what {
        What::Text(text) => Some(text.as_slice()),
        _ => None,
    })
}

/// A word in the place of a literal: in its quotes, and in small letters if that is.
fn like(shown: &str, word: &str) -> String {
    let quote = if shown.starts_with('\'') { '\'' } else { '"' };
    let word = match shown.chars().any(|c| c.is_ascii_uppercase()) {
        true => word.to_owned(),
        false => word.to_ascii_lowercase(),
    };
    format!("{quote}{word}{quote}")
}

fn command(source: &Source<'_>, name: &Range<usize>) -> Vec<Change> {
    let Some(text) = literal(source, name) else {
        return Vec::new();
    };
    let is = |known: &str| text.eq_ignore_ascii_case(known.as_bytes());
    let others = COMMANDS.iter().filter_map(|(one, other)| match () {
        () if is(one) => Some(other),
        // SET and GET have no condition to lose.
        () if is(other) && !["SET", "GET", "HSET", "MSET"].contains(other) => Some(one),
        () => None,
    });
    others
        .map(|other| Change {
            operator: Operator::Command,
            range: name.clone(),
            after: like(source.slice(name), other),
        })
        .collect()
}

fn options(source: &Source<'_>, name: &Range<usize>, rest: &[Range<usize>]) -> Vec<Change> {
    let mut changes = Vec::new();
    for (at, range) in rest.iter().enumerate() {
        let Some((_, values, others)) = option(source, range) else {
            continue;
        };
        let Some(last) = rest.get(at + values) else {
            continue;
        };
        let before = if at == 0 { name } else { &rest[at - 1] };
        let behind = source.slice(&(range.end..last.end));
        for other in *others {
            let shown = source.slice(range);
            let (range, after) = match other.strip_suffix(" *") {
                // With the comma before it.
                _ if other.is_empty() => (before.end..last.end, String::new()),
                Some(word) => (range.start..last.end, like(shown, word) + behind),
                None => (range.start..last.end, like(shown, other)),
            };
            changes.push(Change {
                operator: Operator::Option,
                range,
                after,
            });
        }
    }
    changes
}

fn option(
    source: &Source<'_>,
    range: &Range<usize>,
) -> Option<&'static (&'static str, usize, &'static [&'static str])> {
    let text = literal(source, range)?;
    let mut rows = OPTIONS.iter();
    rows.find(|(name, ..)| text.eq_ignore_ascii_case(name.as_bytes()))
}

/// The entries of tables that are arguments.
fn lists<'s>(
    source: &'s Source<'_>,
    arguments: &'s [Range<usize>],
) -> impl Iterator<Item = &'s Vec<Range<usize>>> {
    let parts = arguments.iter().flat_map(|range| source.at(range));
    parts.filter_map(|part| match &part.what {
        What::List(entries) => Some(entries),
        _ => None,
    })
}

/// Two neighbours in the other order, unless one of them is an option.
fn neighbours(source: &Source<'_>, list: &[Range<usize>]) -> Vec<Change> {
    let plain = |range: &Range<usize>| option(source, range).is_none();
    let is_value = |at: usize| at > 0 && !plain(&list[at - 1]);
    let pairs = (1..list.len()).map(|at| (at - 1, at));
    pairs
        .filter(|(one, other)| plain(&list[*one]) && plain(&list[*other]) && !is_value(*one))
        .map(|(one, other)| {
            let (one, other) = (&list[one], &list[other]);
            let between = source.slice(&(one.end..other.start));
            Change {
                operator: Operator::Argument,
                range: one.start..other.end,
                after: format!("{}{between}{}", source.slice(other), source.slice(one)),
            }
        })
        .collect()
}

/// `KEYS` and `ARGV` of a script: the other list, or another number that the script uses.
fn elements(source: &Source<'_>) -> Vec<Change> {
    if !source.is_script {
        return Vec::new();
    }
    let found: Vec<(&Range<usize>, &str, u32)> = (source.parts())
        .filter_map(|part| match &part.what {
            What::Element { name, number } if number.fract() == 0.0 && *number >= 1.0 => {
                Some((&part.range, name.as_str(), *number as u32))
            }
            _ => None,
        })
        .filter(|(_, name, _)| ["KEYS", "ARGV"].contains(name))
        .collect();
    let used: BTreeSet<(&str, u32)> = found.iter().map(|(_, name, n)| (*name, *n)).collect();
    let mut changes = Vec::new();
    for (range, name, number) in &found {
        // A list has few entries that a script names; of the other list the same number and the first.
        let others = used.iter().filter(|(other, n)| {
            (other, n) != (name, number) && (other == name || n == number || *n == 1)
        });
        for (other, n) in others {
            changes.push(Change {
                operator: Operator::Argument,
                range: (*range).clone(),
                after: format!("{other}[{n}]"),
            });
        }
    }
    changes
}

/// `lock.token`, who holds, and `lock.owner`, who it is.
fn fields(source: &Source<'_>) -> Vec<Change> {
    const OTHER: [(&str, &str); 2] = [("lock.token", "lock.owner"), ("lock.owner", "lock.token")];
    let fields = source.parts().filter(|part| part.what == What::Field);
    fields
        .filter_map(|part| {
            let shown = source.slice(&part.range);
            let (_, other) = OTHER.iter().find(|(field, _)| *field == shown)?;
            Some(Change {
                operator: Operator::Argument,
                range: part.range.clone(),
                after: (*other).into(),
            })
        })
        .collect()
}
