//! What stands for tokens, owners and times in the tables.
//!
//! In the tables no absolute time and no real token exists; texts have symbols
//! in their place ([`lockproof_lua::text`]):
//!
//! - a time stamp is how far it is from the present, and grows older with every
//!   tick; beyond the horizon only that it is long ago, and where it was stored then;
//! - a token is client A's token number 0 of its current attempt; 1, 2 .. are
//!   older ones that a message in flight still names, from [`STALE`] on older
//!   ones that only servers and replies have, and from [`KEPT`] on older ones that its
//!   program keeps and may send;
//! - an owner (the client's stable identity) is client A's, and B's too where both
//!   are workers of one process.
//!
//! A client program sees the same texts from its own side ([`lockproof_lua::view`]): its
//! own token, older ones of its own, somebody else's. Those of one reply are told
//! apart, and whether one is another that the program remembers, its tables do
//! not follow: such a comparison is refused.

use lockproof_lua::text::{self, Far, Name, NameKind, Reading, Span, Symbol};
use lockproof_lua::{Scale, mark, view};
use lockproof_redis::Reply;
use lockproof_trace as trace;

use crate::lock::{KEPT_MAX, Kept};

/// What the clock of a server of a model shows (ms) when it is right.
pub const PRESENT: i64 = 5_000_000_000_000;

/// Token generations that messages in flight can name.
pub const GENERATIONS: u8 = 6;

/// The first number of tokens that no message in flight and no program names.
pub const STALE: u8 = GENERATIONS;

/// The number that stands for more of those than can be told apart.
pub const STALE_LAST: u8 = 15;

/// The first of the two numbers of tokens that a program keeps.
pub const KEPT: u8 = 16;

/// Tokens that have a place in a [`Renaming`].
pub const NAMED: usize = (GENERATIONS + KEPT_MAX) as usize;
const _: () = assert!(NAMED <= 8, "a set of them is a byte");

/// The bits of kept tokens in a set of places in a [`Renaming`].
pub const KEPT_BITS: u8 = ((1 << KEPT_MAX) - 1) << GENERATIONS;

/// The new number of each token that a message in flight or a program can name.
pub type Renaming = [u8; NAMED];

/// Where a generation stands in a [`Renaming`], if it does.
pub fn named(generation: u8) -> Option<usize> {
    match generation.checked_sub(KEPT) {
        Some(number) if number < KEPT_MAX => Some(usize::from(GENERATIONS + number)),
        Some(_) => None,
        None => (generation < GENERATIONS).then_some(usize::from(generation)),
    }
}

/// Client A, B, .. as one letter.
pub fn letter(client: u8) -> char {
    char::from(b'A' + client)
}

/// A client's token.
pub fn token(client: u8, generation: u8) -> Name {
    Name {
        kind: NameKind::Token,
        who: b'A' + client,
        mark: generation,
    }
}

/// A client's owner name.
pub fn owner(client: u8) -> Name {
    Name {
        kind: NameKind::Owner,
        who: b'A' + client,
        mark: 0,
    }
}

/// The client and the generation of a token as servers have it.
pub fn token_of(name: Name) -> Option<(u8, u8)> {
    let client = name.who.checked_sub(b'A').filter(|client| *client < 8)?;
    (name.kind == NameKind::Token).then_some((client, name.mark))
}

/// A text with every name rewritten.
pub fn map_names(text: &[u8], mut f: impl FnMut(Name) -> Name) -> Vec<u8> {
    text::map_symbols(text, |symbol, out| {
        match symbol {
            Symbol::Name(name) => Symbol::Name(f(name)),
            other => other,
        }
        .write(out);
    })
}

/// True if the text carries a time stamp.
pub fn has_time(text: &[u8]) -> bool {
    text::symbols(text).any(|symbol| matches!(symbol, Symbol::Time(..) | Symbol::Far(_)))
}

/// The text with every time stamp masked: what stays the same while it ages.
pub fn mask_times(text: &[u8]) -> Vec<u8> {
    text::map_symbols(text, |symbol, out| {
        match symbol {
            Symbol::Time(..) | Symbol::Far(_) => Symbol::Time(Span::default(), Reading::default()),
            other => other,
        }
        .write(out);
    })
}

/// A place in a keyspace, for stamps that get too old there.
pub fn place(key: &[u8], element: &[u8]) -> u32 {
    // FNV-1a over both, names aside: they are renamed.
    let plain = |bytes: &[u8]| text::map_symbols(bytes, |_, out| out.push(text::MARK));
    let all = [plain(key), vec![0], plain(element)].concat();
    all.iter().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

/// A stamp that is too far away, of which nobody knows where it was stored.
const LOST: Symbol = Symbol::Far(Far {
    future: false,
    place: 0,
    node: u8::MAX,
    read: 0,
});

/// A text some ticks later. Stamps that get beyond the horizon are where
/// `place` says, if it says so.
pub fn age(text: &[u8], ticks: i32, scale: Scale, place: Option<u32>) -> Vec<u8> {
    text::map_symbols(text, |symbol, out| {
        match symbol {
            Symbol::Time(span, reading) => later(span.later(-ticks), reading, scale, place),
            other => other,
        }
        .write(out);
    })
}

fn later(span: Span, reading: Reading, scale: Scale, place: Option<u32>) -> Symbol {
    let ms = span.value(scale.step_ms);
    if ms <= -scale.horizon_ms {
        return match place {
            Some(place) => Symbol::Far(Far {
                future: false,
                place,
                node: 0,
                read: 0,
            }),
            None => LOST,
        };
    }
    // What lies ahead comes nearer, and is told exactly.
    Symbol::Time(span, reading)
}

/// The clients of which texts tell.
#[derive(Clone, Copy, Debug)]
pub struct People {
    pub clients: u8,
    /// A and B use one owner id.
    pub shared_owner: bool,
    /// A and B share a handle, and see each other's present token in it.
    pub shared_handle: bool,
    /// Each client of the lock file is two, if it has two lock objects.
    pub objects: Option<trace::Objects>,
}

impl People {
    /// The owner name that a client uses.
    fn owner(self, client: u8) -> Name {
        owner(match self.objects {
            Some(objects) => objects.owner(client),
            None => trace::owner_of(client, self.shared_owner),
        })
    }

    /// The client that shares a handle with `me`, if one does.
    pub fn partner(self, me: u8) -> Option<u8> {
        if !self.shared_handle || self.clients < 2 {
            return None;
        }
        match self.objects {
            Some(objects) => Some(objects.partner(me)),
            None => (me < 2).then(|| 1 - me),
        }
    }

    /// The client that comes so many after `me`.
    fn after(self, me: u8, many: u8) -> u8 {
        (me + many) % self.clients.max(1)
    }
}

/// Texts of one reply as client `me` sees them, whose clock is `skew` ticks ahead.
pub struct ToLocal {
    pub me: u8,
    pub people: People,
    pub skew: i32,
    pub scale: Scale,
    /// Tokens met so far.
    seen: Vec<Name>,
}

impl ToLocal {
    /// Nothing met yet.
    pub fn new(me: u8, people: People, skew: i32, scale: Scale) -> ToLocal {
        ToLocal {
            me,
            people,
            skew,
            scale,
            seen: Vec::new(),
        }
    }

    /// One text.
    pub fn text(&mut self, text: &[u8]) -> Vec<u8> {
        text::map_symbols(text, |symbol, out| {
            match symbol {
                Symbol::Name(name) => Symbol::Name(self.name(name)),
                Symbol::Time(span, reading) => {
                    let reading = by(reading, self.people.clients - self.me, self.people);
                    later(span.later(-self.skew), reading, self.scale, None)
                }
                other => other,
            }
            .write(out);
        })
    }

    fn name(&mut self, name: Name) -> Name {
        let client = name.who.wrapping_sub(b'A');
        let other = self.people.after(client, self.people.clients - self.me);
        if name.kind == NameKind::Owner {
            let own = name == self.people.owner(self.me);
            return Name {
                who: if own { view::OWN } else { view::FOREIGN },
                mark: if own { b'0' } else { mark(other, 0) },
                ..name
            };
        }
        if other == 0 && name.mark == 0 {
            return Name {
                who: view::OWN,
                mark: b'0',
                ..name
            };
        }
        if self.people.partner(self.me) == Some(client) && name.mark == 0 {
            return Name {
                who: view::PARTNER,
                mark: b'0',
                ..name
            };
        }
        if let Some(number) = name.mark.checked_sub(KEPT).filter(|_| other == 0) {
            return Name {
                who: view::KEPT,
                mark: mark(0, number),
                ..name
            };
        }
        if !self.seen.contains(&name) {
            self.seen.push(name);
        }
        let of_client = self.seen.iter().filter(|seen| seen.who == name.who);
        let number = of_client
            .clone()
            .position(|seen| *seen == name)
            .unwrap_or(0);
        Name {
            who: if other == 0 {
                view::OLDER
            } else {
                view::FOREIGN
            },
            mark: mark(other, number as u8),
            ..name
        }
    }
}

/// A kept reading of the client that comes so many after the one it names; an own one stays.
fn by(reading: Reading, after: u8, people: People) -> Reading {
    match reading.client() {
        Some(client) => reading.renamed(u16::from(people.after(client, after))),
        None => reading,
    }
}

/// A client's text as the servers see it.
pub fn to_server(text: &[u8], me: u8, people: People, skew: i32, scale: Scale) -> Vec<u8> {
    text::map_symbols(text, |symbol, out| {
        match symbol {
            Symbol::Name(name) => Symbol::Name(match (name.kind, name.who) {
                (NameKind::Token, view::KEPT) => token(me, KEPT + (name.mark & 0x0f)),
                // Nobody without a partner gets such a name.
                (NameKind::Token, view::PARTNER) => token(people.partner(me).unwrap_or(me), 0),
                (NameKind::Token, _) => token(me, 0),
                // No program sends one.
                (NameKind::Thread, _) => name,
                (NameKind::Owner, view::OWN) => people.owner(me),
                (NameKind::Owner, _) => people.owner(people.after(me, name.mark >> 4)),
            }),
            Symbol::Time(span, reading) => {
                let reading = match reading.is_sent() {
                    true => reading.keep(me),
                    false => by(reading, me, people),
                };
                later(span.later(skew), reading, scale, None)
            }
            other => other,
        }
        .write(out);
    })
}

/// How one client's tokens are renamed when it begins a new attempt, in one
/// keyspace or one message: those that messages in flight name keep numbers of
/// their own, the others become stale, each its own.
pub struct Retirement<'m> {
    client: u8,
    map: &'m Renaming,
    stale: Vec<u8>,
}

impl<'m> Retirement<'m> {
    /// `map[named(g)]` is the new number of generation `g`.
    pub fn new(client: u8, map: &'m Renaming) -> Retirement<'m> {
        Retirement {
            client,
            map,
            stale: Vec::new(),
        }
    }

    /// One text.
    pub fn text(&mut self, text: &[u8]) -> Vec<u8> {
        map_names(text, |name| match token_of(name) {
            Some((client, generation)) if client == self.client => {
                token(client, self.new_number(generation))
            }
            _ => name,
        })
    }

    fn new_number(&mut self, generation: u8) -> u8 {
        if let Some(new) = named(generation).map(|place| self.map[place])
            && new != STALE
        {
            return new;
        }
        // In the order in which they are met, so that equal contents stay equal.
        let known = self.stale.iter().position(|known| *known == generation);
        let number = known.unwrap_or_else(|| {
            self.stale.push(generation);
            self.stale.len() - 1
        });
        STALE + (number as u8).min(STALE_LAST - STALE)
    }
}

/// The generations of `client`'s tokens that a text names, as a bit set.
pub fn generations(text: &[u8], client: u8) -> u8 {
    text::symbols(text).fold(0, |set, symbol| match symbol {
        Symbol::Name(name) => match token_of(name) {
            Some((c, generation)) if c == client => {
                set | named(generation).map_or(0, |place| 1 << place)
            }
            _ => set,
        },
        _ => set,
    })
}

/// What becomes of each token of a client when it starts a new attempt: its messages in
/// flight name those in `mask`, and its program keeps `kept`.
pub fn retirement(mask: u8, kept: Kept) -> Renaming {
    let mut map = [STALE; NAMED];
    let mut rank = 1;
    for (place, new) in map.iter_mut().enumerate() {
        let number = (place as u8).checked_sub(GENERATIONS);
        let keeps = match number {
            Some(number) => kept.has_older(number).then_some(number),
            None if place == 0 => kept.present(),
            None => None,
        };
        if let Some(number) = keeps {
            *new = KEPT + number;
        } else if mask & 1 << place != 0 {
            *new = rank.min(STALE);
            rank += 1;
        }
    }
    map
}

/// True if a text names more stale tokens than can be told apart.
pub fn is_crowded(text: &[u8]) -> bool {
    text::symbols(text).any(|symbol| match symbol {
        Symbol::Name(name) => token_of(name).is_some_and(|(_, g)| g == STALE_LAST),
        _ => false,
    })
}

/// Rewrites every text inside a reply.
pub fn map_reply(reply: &Reply, f: &mut impl FnMut(&[u8]) -> Vec<u8>) -> Reply {
    match reply {
        Reply::Nil | Reply::Int(_) | Reply::Status(_) | Reply::Error(_) => reply.clone(),
        Reply::Bulk(bytes) => Reply::Bulk(f(bytes)),
        Reply::Array(items) => Reply::Array(items.iter().map(|item| map_reply(item, f)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE: Scale = Scale {
        tick_ms: 1000,
        step_ms: 1001,
        horizon_ms: 3003,
    };

    fn apart(clients: u8) -> People {
        People {
            clients,
            shared_owner: false,
            shared_handle: false,
            objects: None,
        }
    }

    fn stamp(ms: i64, ticks: i32) -> Vec<u8> {
        Symbol::Time(Span { ms, ticks }, Reading::default()).text()
    }

    fn name(name: Name) -> Vec<u8> {
        Symbol::Name(name).text()
    }

    #[test]
    fn time_stamps_age_and_keep_their_place_beyond_the_horizon() {
        assert_eq!(age(&stamp(2000, 0), 1, SCALE, None), stamp(2000, -1));
        let far = age(&stamp(0, -2), 1, SCALE, Some(7));
        let Some(Symbol::Far(found)) = text::only_symbol(&far) else {
            panic!("{}", text::printable(&far));
        };
        assert_eq!((found.place, found.node), (7, 0));
        assert_eq!(age(&far, 1, SCALE, Some(9)), far);
        let nowhere = age(&stamp(0, -2), 1, SCALE, None);
        assert_ne!(nowhere, far);
    }

    #[test]
    fn a_token_is_own_to_one_client_and_foreign_to_the_other() {
        let text = [name(token(0, 0)), name(token(0, 1)), name(owner(1))].concat();
        let seen = |me| {
            let local = ToLocal::new(me, apart(2), 0, SCALE).text(&text);
            let names: Vec<u8> = text::symbols(&local)
                .map(|symbol| match symbol {
                    Symbol::Name(name) => name.who,
                    _ => 0,
                })
                .collect();
            names
        };
        assert_eq!(seen(0), [view::OWN, view::OLDER, view::FOREIGN]);
        assert_eq!(seen(1), [view::FOREIGN, view::FOREIGN, view::OWN]);
    }

    #[test]
    fn two_old_tokens_stay_two_when_they_go_stale() {
        let map = [STALE; NAMED];
        let text = [name(token(0, 1)), name(token(0, 7)), name(token(1, 0))].concat();
        let retired = Retirement::new(0, &map).text(&text);
        let expected = [name(token(0, 6)), name(token(0, 7)), name(token(1, 0))].concat();
        assert_eq!(retired, expected);
    }

    #[test]
    fn a_reply_tells_its_own_tokens_apart() {
        let text = [name(token(0, 0)), name(token(0, 6)), name(token(0, 0))].concat();
        let local = ToLocal::new(1, apart(2), 0, SCALE).text(&text);
        let found: Vec<Symbol> = text::symbols(&local).collect();
        assert_eq!(found[0], found[2]);
        assert_ne!(found[0], found[1]);
    }
}
