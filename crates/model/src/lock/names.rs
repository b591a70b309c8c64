//! Tokens and owners that a program of a model remembers.
//!
//! A reply names the tokens in it by numbers of its own. When the next one comes,
//! what the program still keeps of the earlier ones is *remembered*: it is still
//! equal to itself, and whether it is a token of the new reply nobody knows. In
//! the same way its own token becomes an older one when a new attempt begins.

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
/// # Errors
/// If it remembers more tokens than can be numbered.
pub(super) fn turn(
    machine: &mut Machine,
    threads: &mut [&mut Thread],
    values: &mut [&mut Value],
    turn: Turn,
) -> Result<(), Refusal> {
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
    let becomes = |name: &Name| match (turn, name.who, name.kind) {
        (_, _, NameKind::Owner) => None,
        (Turn::Reply, view::FOREIGN, _) => Some(view::FOREIGN_REMEMBERED),
        (Turn::Reply, view::OLDER, _) => Some(view::OLDER_REMEMBERED),
        (Turn::Attempt, view::OWN, _) => Some(view::OLDER_REMEMBERED),
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
        return Ok(());
    }
    machine.for_each_value(threads, values, &mut |value| {
        if let Value::Text(text) = value
            && text.is_symbolic()
        {
            *text = rename(text, &renamed);
        }
    });
    Ok(())
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

/// The first token in a command that is not the client's own present one.
pub(super) fn sends_another(argv: &[Vec<u8>]) -> Option<Name> {
    let symbols = argv.iter().flat_map(|word| text::symbols(word));
    let mut names = symbols.filter_map(|symbol| match symbol {
        Symbol::Name(name) => Some(name),
        _ => None,
    });
    names.find(|name| {
        let foreign_owner = name.kind == NameKind::Owner && name.who != view::OWN;
        let other_token = name.kind == NameKind::Token && name.who != view::OWN;
        other_token || foreign_owner && is_remembered(name.who)
    })
}
