//! Does a concrete text stand for a canonical one?
//!
//! A canonical text has symbols where a concrete one has a token's letters or a
//! time's digits. The concrete run knows what most symbols are right now; of stale
//! tokens it knows only that different symbols are different tokens, so their
//! meaning is found on the way, the same within one keyspace or one message.

use lockproof_lua::text::{self, NameKind, Piece, Span, Symbol};
use lockproof_redis::{Bytes, Reply, Score, Value};

use super::ConcreteRun;
use super::clients::Client;
use crate::world::node::{Entry, Keyspace, Writers};
use crate::world::owners::Owners;
use crate::world::symbols;

/// What stale symbols of one keyspace or message stand for.
#[derive(Clone, Default)]
struct Meaning {
    /// Client and number, and the token.
    stale: Vec<((u8, u8), String)>,
}

/// What symbols stand for at one moment of a concrete run.
pub(super) struct Reading<'r> {
    clients: &'r [Client],
    /// The moment that times are told from.
    now: i64,
    step_ms: i64,
    horizon_ms: i64,
    /// By rank.
    fences: &'r [Option<i64>],
}

impl<'w> ConcreteRun<'w> {
    /// How servers' texts read now.
    pub(super) fn reading(&self) -> Reading<'_> {
        Reading {
            clients: &self.clients,
            now: self.now(),
            step_ms: self.tick_ms,
            horizon_ms: self.world.tables.needs.server_scale().horizon_ms,
            fences: &self.fences,
        }
    }
}

impl Reading<'_> {
    /// The concrete keyspace is the claimed one.
    pub fn is_keyspace(&self, concrete: &Keyspace, claimed: &Keyspace) -> bool {
        let (entries, others) = (claimed.entries(), concrete.entries());
        claimed.scripts == concrete.scripts
            && claimed.watches == concrete.watches
            && entries.len() == others.len()
            && self.pair_entries(entries, others, &Meaning::default())
    }

    /// The concrete command line is the claimed one.
    pub fn is_command(&self, concrete: &[Bytes], claimed: &[Bytes]) -> bool {
        let mut meaning = Meaning::default();
        let mut pairs = concrete.iter().zip(claimed);
        concrete.len() == claimed.len() && pairs.all(|(c, k)| self.is_text(c, k, &mut meaning))
    }

    /// The concrete reply is the claimed one.
    pub fn is_reply(&self, concrete: &Reply, claimed: &Reply) -> bool {
        self.same_reply(concrete, claimed, &mut Meaning::default())
    }

    fn same_reply(&self, concrete: &Reply, claimed: &Reply, meaning: &mut Meaning) -> bool {
        match (concrete, claimed) {
            (Reply::Bulk(concrete), Reply::Bulk(claimed)) => {
                self.is_text(concrete, claimed, meaning)
            }
            // A status or an error with a symbol in it is a text in the model.
            (Reply::Status(line) | Reply::Error(line), Reply::Bulk(claimed)) => {
                claimed.contains(&text::MARK) && self.is_text(line.as_bytes(), claimed, meaning)
            }
            // Integers that stand for times, fences and high counts are symbols.
            (Reply::Int(number), Reply::Bulk(claimed)) => {
                let digits = number.to_string();
                text::only_symbol(claimed).is_some()
                    && self.is_text(digits.as_bytes(), claimed, meaning)
            }
            (Reply::Array(concrete), Reply::Array(claimed)) => {
                let mut pairs = concrete.iter().zip(claimed);
                concrete.len() == claimed.len()
                    && pairs.all(|(c, k)| self.same_reply(c, k, meaning))
            }
            (concrete, claimed) => concrete == claimed,
        }
    }

    /// Each claimed entry has a concrete one of its own.
    fn pair_entries(&self, claimed: &[Entry], concrete: &[Entry], meaning: &Meaning) -> bool {
        let Some((first, rest)) = claimed.split_first() else {
            return true;
        };
        let mut at = 0..concrete.len();
        at.any(|at| {
            let mut meaning = meaning.clone();
            let other = &concrete[at];
            let life = |entry: &Entry| entry.life.map(|life| life.value(self.step_ms));
            if life(first) != life(other) || !self.is_text(&other.key, &first.key, &mut meaning) {
                return false;
            }
            let others: Vec<Entry> = without(concrete, at);
            self.with_value(first, other, &meaning, &|meaning| {
                self.pair_entries(rest, &others, meaning)
            })
        })
    }

    /// The values are the same, and `then` holds for what symbols mean by then.
    fn with_value(
        &self,
        claimed: &Entry,
        concrete: &Entry,
        meaning: &Meaning,
        then: &dyn Fn(&Meaning) -> bool,
    ) -> bool {
        match (elements(claimed), elements(concrete)) {
            (Elements::Ordered(claimed), Elements::Ordered(concrete)) => {
                let mut meaning = meaning.clone();
                let mut pairs = claimed.iter().zip(&concrete);
                claimed.len() == concrete.len()
                    && pairs.all(|(k, c)| self.is_element(c, k, &mut meaning))
                    && then(&meaning)
            }
            (Elements::Set(claimed), Elements::Set(concrete)) => {
                claimed.len() == concrete.len()
                    && self.pair_elements(&claimed, &concrete, meaning, then)
            }
            _ => false,
        }
    }

    fn pair_elements(
        &self,
        claimed: &[Element],
        concrete: &[Element],
        meaning: &Meaning,
        then: &dyn Fn(&Meaning) -> bool,
    ) -> bool {
        let Some((first, rest)) = claimed.split_first() else {
            return then(meaning);
        };
        (0..concrete.len()).any(|at| {
            let mut meaning = meaning.clone();
            self.is_element(&concrete[at], first, &mut meaning)
                && self.pair_elements(rest, &without(concrete, at), &meaning, then)
        })
    }

    fn is_element(&self, concrete: &Element, claimed: &Element, meaning: &mut Meaning) -> bool {
        concrete.owners == claimed.owners
            && self.is_score(concrete.score, claimed.score, meaning)
            && concrete.texts.len() == claimed.texts.len()
            && concrete
                .texts
                .iter()
                .zip(&claimed.texts)
                .all(|(c, k)| self.is_text(c, k, meaning))
    }

    fn is_score(
        &self,
        concrete: Option<Score>,
        claimed: Option<Score>,
        meaning: &mut Meaning,
    ) -> bool {
        match (concrete, claimed) {
            (Some(Score::Number(number)), Some(Score::Stamp(symbol))) => {
                let digits = (number as i64).to_string();
                number.fract() == 0.0 && self.is_text(digits.as_bytes(), &symbol.text(), meaning)
            }
            (concrete, claimed) => concrete == claimed,
        }
    }

    fn is_text(&self, concrete: &[u8], claimed: &[u8], meaning: &mut Meaning) -> bool {
        let mut rest = concrete;
        for piece in text::pieces(claimed) {
            let taken = match piece {
                Piece::Plain(bytes) => rest.strip_prefix(bytes),
                Piece::Symbol(symbol) => self.take(rest, symbol, meaning),
            };
            let Some(left) = taken else {
                return false;
            };
            rest = left;
        }
        rest.is_empty()
    }

    /// What is left of a text behind what a symbol stands for.
    fn take<'t>(&self, text: &'t [u8], symbol: Symbol, meaning: &mut Meaning) -> Option<&'t [u8]> {
        let number = |number: i64| text.strip_prefix(number.to_string().as_bytes());
        match symbol {
            Symbol::Name(name) if name.kind == NameKind::Owner => {
                let client = self.clients.get(usize::from(name.who.checked_sub(b'A')?))?;
                text.strip_prefix(client.owner.as_bytes())
            }
            Symbol::Name(name) => {
                let (client, generation) = symbols::token_of(name)?;
                self.take_token(text, client, generation, meaning)
            }
            Symbol::Time(span, _) => number(self.now + span.value(self.step_ms)),
            Symbol::Span(Span { ms, ticks }) | Symbol::Count(Span { ms, ticks }) => {
                number(ms + i64::from(ticks) * self.step_ms)
            }
            Symbol::Far(far) => {
                let digits = text.get(..13)?;
                let time: i64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
                let distance = time - self.now;
                let fits = match far.future {
                    true => distance >= self.horizon_ms,
                    false => distance <= -self.horizon_ms,
                };
                fits.then(|| &text[13..])
            }
            Symbol::Fence(rank) | Symbol::FenceCount(rank) if rank != text::UNRANKED => {
                number((*self.fences.get(usize::from(rank))?)?)
            }
            // It never leaves a script.
            Symbol::Part { .. } => None,
            Symbol::Fence(_) | Symbol::FenceCount(_) => {
                let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
                (digits > 0).then(|| &text[digits..])
            }
            Symbol::Many(least) | Symbol::ManyCount(least) => {
                let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
                let count: i64 = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
                (count >= i64::from(least)).then(|| &text[digits..])
            }
        }
    }

    fn take_token<'t>(
        &self,
        text: &'t [u8],
        client: u8,
        generation: u8,
        meaning: &mut Meaning,
    ) -> Option<&'t [u8]> {
        let of_client = &self.clients.get(usize::from(client))?.tokens;
        let after = |token: &str| text.strip_prefix(token.as_bytes());
        if symbols::named(generation).is_some() {
            let (token, _) = of_client.iter().find(|(_, g)| *g == generation)?;
            return after(token);
        }
        let place = (client, generation);
        if let Some((_, token)) = meaning.stale.iter().find(|(known, _)| *known == place) {
            return after(token);
        }
        let stale = of_client
            .iter()
            .filter(|(_, g)| symbols::named(*g).is_none());
        let mut free = stale.filter(|(token, _)| meaning.stale.iter().all(|(_, t)| t != token));
        let (token, _) = free.find(|(token, _)| after(token).is_some())?;
        meaning.stale.push((place, token.clone()));
        after(token)
    }
}

fn without<T: Clone>(all: &[T], at: usize) -> Vec<T> {
    let mut rest = all.to_vec();
    rest.remove(at);
    rest
}

/// A part of an entry with its writer.
#[derive(Clone)]
struct Element {
    texts: Vec<Bytes>,
    score: Option<Score>,
    /// `None` if nobody is known.
    owners: Option<Owners>,
}

enum Elements {
    Ordered(Vec<Element>),
    Set(Vec<Element>),
}

fn elements(entry: &Entry) -> Elements {
    let each = |element: &Bytes| match &entry.writers {
        Writers::Each(each) => each.get(element).copied(),
        _ => None,
    };
    let element = |texts: Vec<Bytes>, score: Option<Score>, owners: Option<Owners>| Element {
        texts,
        score,
        owners,
    };
    match &entry.value {
        Value::String(text) => {
            let owners = match entry.writers {
                Writers::One(owners) => Some(owners),
                _ => None,
            };
            Elements::Ordered(vec![element(vec![text.clone()], None, owners)])
        }
        Value::List(list) => {
            let writers = entry.writers.all();
            let items = list.iter().zip(writers);
            Elements::Ordered(
                items
                    .map(|(item, owners)| element(vec![item.clone()], None, Some(owners)))
                    .collect(),
            )
        }
        Value::Hash(hash) => Elements::Set(
            hash.iter()
                .map(|(field, text)| element(vec![field.clone(), text.clone()], None, each(field)))
                .collect(),
        ),
        Value::Set(set) => Elements::Set(
            set.iter()
                .map(|member| element(vec![member.clone()], None, each(member)))
                .collect(),
        ),
        Value::SortedSet(set) => Elements::Set(
            set.ranked()
                .into_iter()
                .map(|(member, score)| element(vec![member.clone()], Some(score), each(member)))
                .collect(),
        ),
    }
}
