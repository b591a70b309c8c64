//! Tokens and owners that a program of a model remembers.
//!
//! A reply names the tokens in it by numbers of its own. When the next one comes,
//! what the program still keeps of the earlier ones is *remembered*: it is still
//! equal to itself, and whether it is a token of the new reply nobody knows.
//!
//! Its own token becomes an older one when a new attempt begins. If the program still
//! knows it then (a thread of the last hold goes on), it is *kept*: it has a number until
//! the program has forgotten it, and servers number it alike. So it may be sent.

use lockproof_lua::text::{self, Name, NameKind, Symbol, Text};
use lockproof_lua::{Machine, Refusal, RefusalKind, Thread, Value, is_remembered, view};
use lockproof_redis::Reply;

/// The client's own present token, and its own name, as its program sees them.
pub(crate) const OWN_TOKEN: Name = Name {
    kind: NameKind::Token,
    who: view::OWN,
    mark: b'0',
};
/// See [`OWN_TOKEN`].
pub(crate) const OWN_NAME: Name = Name {
    kind: NameKind::Owner,
    who: view::OWN,
    mark: b'0',
};

/// Tokens of one client that a program can remember.
const REMEMBERED_MAX: u8 = 15;

/// Older tokens of its own that a program can keep, and send.
pub(crate) const KEPT_MAX: u8 = 2;

/// True if a reply names a token that is not the client's own present one.
pub(super) fn brings_names(reply: &Reply) -> bool {
    match reply {
        Reply::Bulk(bytes) => text::symbols(bytes).any(|symbol| match symbol {
            Symbol::Name(name) => name.kind == NameKind::Token && name.who != view::OWN,
            _ => false,
        }),
        Reply::Array(items) => items.iter().any(brings_names),
        Reply::Nil | Reply::Status(_) | Reply::Error(_) | Reply::Int(_) => false,
    }
}

/// What is about to be renamed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// A reply comes: names of earlier ones are remembered.
    Reply,
    /// A new attempt begins: the present token becomes an older one.
    Attempt,
}

/// Renames what the program keeps.
///
/// Gives what it keeps of its own earlier attempts.
///
/// # Errors
/// If it remembers more tokens than can be numbered.
pub(super) fn turn(
    machine: &mut Machine,
    threads: &mut [&mut Thread],
    values: &mut [&mut Value],
    turn: Turn,
) -> Result<Kept, Refusal> {
    let mut known: Vec<Name> = Vec::new();
    machine.for_each_value(threads, values, &mut |value| {
        if let Value::Text(text) = value
            && text.is_symbolic()
        {
            let names = text::symbols(text.bytes()).filter_map(|symbol| match symbol {
                Symbol::Name(name) => Some(name),
                _ => None,
            });
            for name in names {
                if !known.contains(&name) {
                    known.push(name);
                }
            }
        }
    });
    let mut renamed: Vec<(Name, Name)> = Vec::new();
    let kept = match turn {
        Turn::Attempt => keep(&known),
        Turn::Reply => Kept::default(),
    };
    if let Some(number) = kept.present() {
        renamed.push((OWN_TOKEN, kept_name(number)));
    }
    let becomes = |name: &Name| match (turn, name.who, name.kind) {
        (_, _, NameKind::Owner | NameKind::Thread) => None,
        (Turn::Reply, view::FOREIGN, _) => Some(view::FOREIGN_REMEMBERED),
        (Turn::Reply, view::OLDER, _) => Some(view::OLDER_REMEMBERED),
        (Turn::Attempt, view::OWN, _) if kept.present().is_none() => Some(view::OLDER_REMEMBERED),
        _ => None,
    };
    for name in known.clone() {
        let Some(who) = becomes(&name) else { continue };
        let whose = if name.who == view::OWN {
            0
        } else {
            name.mark >> 4
        };
        let taken = |mark: u8| {
            let new = Name { who, mark, ..name };
            known.contains(&new) || renamed.iter().any(|(_, to)| *to == new)
        };
        let free = (0..REMEMBERED_MAX)
            .map(|number| lockproof_lua::mark(whose, number))
            .find(|mark| !taken(*mark));
        let Some(mark) = free else {
            return Err(Refusal {
                kind: RefusalKind::Limit,
                what: "remembers more than fifteen tokens".into(),
                line: 0,
            });
        };
        renamed.push((name, Name { who, mark, ..name }));
    }
    if renamed.is_empty() {
        return Ok(kept);
    }
    machine.for_each_value(threads, values, &mut |value| {
        if let Value::Text(text) = value
            && text.is_symbolic()
        {
            *text = rename(text, &renamed);
        }
    });
    Ok(kept)
}

/// What a program keeps of its own earlier attempts when a new one begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kept(u8);

/// Above the bits of the numbers.
const PRESENT: u8 = KEPT_MAX;

impl Kept {
    /// True if this number is taken from now on, by the token that had it before.
    pub(crate) fn has_older(self, number: u8) -> bool {
        self.0 & 1 << number != 0 && self.present() != Some(number)
    }

    /// The number that the token gets which was the present one, if it is known still.
    pub(crate) fn present(self) -> Option<u8> {
        (self.0 >> PRESENT).checked_sub(1)
    }
}

fn kept_name(number: u8) -> Name {
    Name {
        who: view::KEPT,
        mark: lockproof_lua::mark(0, number),
        ..OWN_TOKEN
    }
}

/// The older tokens that are known; the present one gets the first free number.
fn keep(known: &[Name]) -> Kept {
    let is_known = |number: &u8| known.contains(&kept_name(*number));
    let older = (0..KEPT_MAX)
        .filter(is_known)
        .fold(0, |set, n| set | 1 << n);
    let free = (0..KEPT_MAX).find(|number| !is_known(number));
    match free.filter(|_| known.contains(&OWN_TOKEN)) {
        Some(number) => Kept(older | 1 << number | (number + 1) << PRESENT),
        None => Kept(older),
    }
}

/// True if a command names an older token of the client's own.
pub(crate) fn sends_kept(argv: &[Vec<u8>]) -> bool {
    let mut symbols = argv.iter().flat_map(|word| text::symbols(word));
    symbols.any(|symbol| matches!(symbol, Symbol::Name(name) if name.who == view::KEPT))
}

fn rename(text: &Text, renamed: &[(Name, Name)]) -> Text {
    Text::symbolic(text::map_symbols(text.bytes(), |symbol, out| {
        let new = match symbol {
            Symbol::Name(name) => {
                let found = renamed.iter().find(|(from, _)| *from == name);
                Symbol::Name(found.map_or(name, |(_, to)| *to))
            }
            other => other,
        };
        new.write(out);
    }))
}

/// The first token in a command that is neither the client's own present one nor one that
/// it has kept.
pub(super) fn sends_another(argv: &[Vec<u8>]) -> Option<Name> {
    let symbols = argv.iter().flat_map(|word| text::symbols(word));
    let mut names = symbols.filter_map(|symbol| match symbol {
        Symbol::Name(name) => Some(name),
        _ => None,
    });
    names.find(|name| {
        let foreign_owner = name.kind == NameKind::Owner && name.who != view::OWN;
        let own = matches!(name.who, view::OWN | view::KEPT | view::PARTNER);
        let other_token = name.kind == NameKind::Token && !own;
        other_token || name.kind == NameKind::Thread || foreign_owner && is_remembered(name.who)
    })
}
