//! Symbols in words, for tests: `<tokA0>` is client A's present token, `<tokAs>`
//! an older one that only servers have (`<tokAs1>` is another one), `<ownA>` its
//! name. Times are written as the decimal ms that a server of the model shows.

use lockproof_lua::text::{self, Piece, Symbol};
use lockproof_model::world::symbols::{self, PRESENT, STALE};

/// What one tick adds to every clock, in ms.
pub const STEP: i64 = 1001;

/// A canonical text in words.
pub fn shown(text: &[u8]) -> String {
    let piece = |piece| match piece {
        Piece::Plain(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Piece::Symbol(symbol) => word(symbol),
    };
    text::pieces(text).map(piece).collect()
}

fn word(symbol: Symbol) -> String {
    match symbol {
        Symbol::Name(name) => match symbols::token_of(name) {
            None => format!("<own{}>", char::from(name.who)),
            Some((client, number)) => {
                let number = match number.checked_sub(STALE) {
                    None => number.to_string(),
                    Some(0) => "s".to_owned(),
                    Some(stale) => format!("s{stale}"),
                };
                format!("<tok{}{number}>", symbols::letter(client))
            }
        },
        Symbol::Time(span, _) => (PRESENT + span.value(STEP)).to_string(),
        other => other.to_string(),
    }
}

/// The text with these names in words as symbols.
pub fn written(words: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = words;
    while let Some(at) = rest.find('<') {
        let (before, after) = rest.split_at(at);
        let end = after.find('>').expect("a name ends in >");
        out.extend_from_slice(before.as_bytes());
        name(&after[1..end]).write(&mut out);
        rest = &after[end + 1..];
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

fn name(word: &str) -> Symbol {
    let (kind, rest) = word.split_at(3);
    let (letter, number) = rest.split_at(1);
    let client = letter.as_bytes()[0] - b'A';
    Symbol::Name(match (kind, number) {
        ("own", "") => symbols::owner(client),
        ("tok", "s") => symbols::token(client, STALE),
        ("tok", _) => match number.strip_prefix('s') {
            Some(stale) => symbols::token(client, STALE + stale.parse::<u8>().unwrap()),
            None => symbols::token(client, number.parse().unwrap()),
        },
        _ => panic!("no name <{word}>"),
    })
}
