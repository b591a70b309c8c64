//! Names for the values that would otherwise make states infinite: tokens,
//! owners and time stamps inside strings.
//!
//! In the tables no absolute time and no real token exists. Every string that
//! a server stores or a client sends is kept in a *canonical* form:
//!
//! - a time stamp is a run of exactly 13 digits near [`PRESENT`]; "now" is
//!   always `PRESENT` itself, so that ageing is subtraction, and scripts that
//!   do arithmetic on time stamps still work on the very same text;
//! - a token is `<tokA0>`: client A's token of its current attempt; 1, 2 ..
//!   are older attempts that a message in flight still names, `s` is an older
//!   one that nobody can name any more;
//! - an owner (the client's stable identity) is `<ownA>`.
//!
//! A client program sees the same strings from its own side: `<tok.0>` its own
//! token, `<tok.s>` an older one of its own, `<tok.F>` somebody else's. `F` has
//! a twin, `G`: the closure runs both and refuses a lock that can tell them
//! apart, because then one foreign symbol would not be enough.

use crate::redis::Reply;

/// The canonical present in ms: 13 digits, like any real clock of this age.
pub const PRESENT: i64 = 5_000_000_000_000;

/// Numbers within this distance (ms) of the present are time stamps.
const WINDOW: i64 = 2_000_000_000;

/// Number of token generations that can be told apart, the stale one not counted.
pub const GENERATIONS: u8 = 6;

/// The generation of a token that no message and no program can name any more.
pub const STALE: u8 = GENERATIONS;

/// Rewrites every time stamp: `f` maps its distance from `base` (ms).
pub fn map_times(text: &[u8], base: i64, f: impl Fn(i64) -> i64) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 {
            let plain = rest.iter().take_while(|b| !b.is_ascii_digit()).count();
            out.extend_from_slice(&rest[..plain]);
            rest = &rest[plain..];
            continue;
        }
        match parse_stamp(&rest[..digits], base) {
            Some(distance) => out.extend_from_slice(f(distance).to_string().as_bytes()),
            None => out.extend_from_slice(&rest[..digits]),
        }
        rest = &rest[digits..];
    }
    out
}

fn parse_stamp(digits: &[u8], base: i64) -> Option<i64> {
    if digits.len() != 13 {
        return None;
    }
    let value: i64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let distance = value - base;
    (distance.abs() <= WINDOW).then_some(distance)
}

/// A time stamp's distance from the present, held within the horizon (ms).
pub fn clamp(distance: i64, horizon_ms: i64) -> i64 {
    distance.clamp(-horizon_ms, horizon_ms)
}

/// Moves every canonical time stamp by `delta` ms.
pub fn shift(text: &[u8], delta: i64, horizon_ms: i64) -> Vec<u8> {
    map_times(text, PRESENT, |d| PRESENT + clamp(d + delta, horizon_ms))
}

/// True if the text carries a canonical time stamp.
pub fn has_time(text: &[u8]) -> bool {
    mask_times(text) != text
}

/// The text with every time stamp masked: what stays the same while it ages.
pub fn mask_times(text: &[u8]) -> Vec<u8> {
    map_times(text, PRESENT, |_| 0)
}

/// Client A, B, .. as one letter.
pub fn letter(client: u8) -> char {
    char::from(b'A' + client)
}

/// The canonical token of a client's attempt.
pub fn token(client: u8, generation: u8) -> String {
    let mark = if generation >= STALE {
        's'
    } else {
        char::from(b'0' + generation)
    };
    format!("<tok{}{mark}>", letter(client))
}

/// The canonical owner name of a client.
pub fn owner(client: u8) -> String {
    format!("<own{}>", letter(client))
}

/// A client's own current token, older token, and owner name as it sees them.
pub const OWN_TOKEN: &str = "<tok.0>";
/// An older token of the client's own.
pub const OWN_STALE: &str = "<tok.s>";
/// The client's own name.
pub const OWN_NAME: &str = "<own.0>";

/// One symbol found in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// `<tokXg>` or `<ownX>` (generation `None`).
    Server { client: u8, generation: Option<u8> },
    /// `<tok.m>` or `<own.m>`: the mark, and whether it is a token.
    Local { token: bool, mark: u8 },
}

/// True if `word` stands somewhere in the text.
pub fn contains(text: &[u8], word: &str) -> bool {
    text.windows(word.len()).any(|part| part == word.as_bytes())
}

/// Rewrites every symbol of a text.
pub fn map_symbols(text: &[u8], mut f: impl FnMut(Symbol) -> String) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut i = 0;
    while i < text.len() {
        match parse_symbol(&text[i..]) {
            Some((symbol, length)) => {
                out.extend_from_slice(f(symbol).as_bytes());
                i += length;
            }
            None => {
                out.push(text[i]);
                i += 1;
            }
        }
    }
    out
}

fn parse_symbol(text: &[u8]) -> Option<(Symbol, usize)> {
    if text.first() != Some(&b'<') {
        return None;
    }
    let end = text.iter().take(8).position(|b| *b == b'>')?;
    let symbol = match &text[1..end] {
        [b't', b'o', b'k', b'.', mark] => Symbol::Local {
            token: true,
            mark: *mark,
        },
        [b'o', b'w', b'n', b'.', mark] => Symbol::Local {
            token: false,
            mark: *mark,
        },
        [b't', b'o', b'k', c @ b'A'..=b'H', g] => Symbol::Server {
            client: c - b'A',
            generation: Some(match g {
                b's' => STALE,
                b'0'..=b'9' => g - b'0',
                _ => return None,
            }),
        },
        [b'o', b'w', b'n', c @ b'A'..=b'H'] => Symbol::Server {
            client: c - b'A',
            generation: None,
        },
        _ => return None,
    };
    Some((symbol, end + 1))
}

/// A server's text as client `me` sees it, whose clock is `skew_ms` ahead.
pub fn to_local(text: &[u8], me: u8, skew_ms: i64, horizon_ms: i64) -> Vec<u8> {
    let named = map_symbols(text, |symbol| match symbol {
        Symbol::Server { client, generation } => {
            let mine = client == me;
            match generation {
                Some(0) if mine => OWN_TOKEN.into(),
                Some(_) if mine => OWN_STALE.into(),
                Some(_) => "<tok.F>".into(),
                None if mine => OWN_NAME.into(),
                None => "<own.F>".into(),
            }
        }
        Symbol::Local { token, mark } => local_symbol(token, mark),
    });
    shift(&named, -skew_ms, horizon_ms)
}

/// A client's text as the servers see it.
///
/// # Errors
/// Returns the symbol if the client sends a token that is not its own present
/// one: the tables could not tell which attempt it belongs to.
pub fn to_server(text: &[u8], me: u8, skew_ms: i64, horizon_ms: i64) -> Result<Vec<u8>, String> {
    let mut foreign = None;
    let named = map_symbols(text, |symbol| match symbol {
        Symbol::Local {
            token: true,
            mark: b'0',
        } => token(me, 0),
        Symbol::Local {
            token: false,
            mark: b'0',
        } => owner(me),
        Symbol::Local { token, mark } => {
            let text = local_symbol(token, mark);
            foreign = Some(text.clone());
            text
        }
        other => print(other),
    });
    match foreign {
        Some(symbol) => Err(symbol),
        None => Ok(shift(&named, skew_ms, horizon_ms)),
    }
}

/// A symbol as text again.
pub fn print(symbol: Symbol) -> String {
    match symbol {
        Symbol::Server {
            client,
            generation: Some(g),
        } => token(client, g),
        Symbol::Server {
            client,
            generation: None,
        } => owner(client),
        Symbol::Local { token, mark } => local_symbol(token, mark),
    }
}

fn local_symbol(token: bool, mark: u8) -> String {
    let kind = if token { "tok" } else { "own" };
    format!("<{kind}.{}>", char::from(mark))
}

/// Renames the generations of one client's tokens: `map[g]` is the new
/// generation of `g`; what is stale stays stale.
pub fn retire(text: &[u8], client: u8, map: &[u8; GENERATIONS as usize]) -> Vec<u8> {
    map_symbols(text, |symbol| match symbol {
        Symbol::Server {
            client: c,
            generation: Some(g),
        } if c == client && g < STALE => token(c, map[usize::from(g)]),
        other => print(other),
    })
}

/// The foreign symbols `F` replaced by their twins `G`; `None` without any.
pub fn twin(text: &[u8]) -> Option<Vec<u8>> {
    let mut found = false;
    let out = map_symbols(text, |symbol| match symbol {
        Symbol::Local { token, mark: b'F' } => {
            found = true;
            local_symbol(token, b'G')
        }
        other => print(other),
    });
    found.then_some(out)
}

/// The generations of `client`'s tokens that a text names, as a bit set.
pub fn generations(text: &[u8], client: u8) -> u8 {
    let mut set = 0;
    map_symbols(text, |symbol| {
        if let Symbol::Server {
            client: c,
            generation: Some(g),
        } = symbol
            && c == client
            && g < STALE
        {
            set |= 1 << g;
        }
        String::new()
    });
    set
}

/// Rewrites every string inside a reply.
pub fn map_reply(reply: &Reply, f: &mut impl FnMut(&[u8]) -> Vec<u8>) -> Reply {
    match reply {
        Reply::Nil | Reply::Int(_) | Reply::Status(_) => reply.clone(),
        Reply::Error(text) => {
            Reply::Error(String::from_utf8_lossy(&f(text.as_bytes())).into_owned())
        }
        Reply::Bulk(bytes) => Reply::Bulk(f(bytes)),
        Reply::Array(items) => Reply::Array(items.iter().map(|item| map_reply(item, f)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stamps_age_and_stop_at_the_horizon() {
        let text = format!("x{}y123", PRESENT + 4000);
        let aged = shift(text.as_bytes(), -1001, 3000);
        assert_eq!(aged, format!("x{}y123", PRESENT + 2999).into_bytes());
        let old = shift(&aged, -9999, 3000);
        assert_eq!(old, format!("x{}y123", PRESENT - 3000).into_bytes());
    }

    #[test]
    fn numbers_far_from_the_present_are_no_time_stamps() {
        let text = b"12345678901234 999 1700000000000";
        assert_eq!(shift(text, -5, 100), text.to_vec());
        assert!(!has_time(text));
        assert!(has_time(PRESENT.to_string().as_bytes()));
    }

    #[test]
    fn a_token_is_own_to_one_client_and_foreign_to_the_other() {
        let text = b"<tokA0>:<tokA1>:<ownB>";
        assert_eq!(to_local(text, 0, 0, 9), b"<tok.0>:<tok.s>:<own.F>");
        assert_eq!(to_local(text, 1, 0, 9), b"<tok.F>:<tok.F>:<own.0>");
    }

    #[test]
    fn a_foreign_token_cannot_be_sent() {
        assert_eq!(to_server(b"<tok.0>", 1, 0, 9), Ok(b"<tokB0>".to_vec()));
        assert!(to_server(b"<tok.F>", 1, 0, 9).is_err());
    }

    #[test]
    fn retiring_renames_one_client_only() {
        let mut map = [STALE; GENERATIONS as usize];
        map[0] = 1;
        assert_eq!(
            retire(b"<tokA0><tokA1><tokB0>", 0, &map),
            b"<tokA1><tokAs><tokB0>"
        );
    }
}
