//! Which reading of its clock a stamp is that a program of a model keeps or sends.
//!
//! Two readings of one tick may show one ms, or not, so a program that compares them as
//! texts goes both ways. A reading is like itself, though: each has a number, and what was
//! sent may come back from a server ([`Reading::is`]).

use lockproof_lua::text::{self, Reading, Span, Symbol, Text};
use lockproof_lua::{Machine, Moment, Thread, Time, Value};

use super::types::Request;

/// The numbers of the readings that leave for the first time. In the requests they are
/// numbered anew, in order: which others the program remembers is not the servers' business.
/// Of several that were sent before, servers know no numbers: the later ones are twins.
pub(super) fn send(requests: &mut [Request]) -> Vec<u16> {
    let mut leaving = Vec::new();
    for request in requests {
        let (mut met, mut ticks) = (Vec::new(), Vec::new());
        for word in &mut request.argv {
            *word = map(word, &mut |span, reading, number| {
                let new = reading.renamed(place(&mut met, number));
                let another = |(tick, of): &(i32, u16)| *tick == span.ticks && *of != number;
                let twin = ticks.iter().any(another);
                ticks.push((span.ticks, number));
                if !reading.is_sent() {
                    leaving.push(number);
                    return new;
                }
                if twin { new.twin() } else { new }
            });
        }
    }
    leaving
}

/// Numbers the readings that a program remembers anew, in the order in which they are met,
/// so that equal states have equal numbers. Those `leaving` count as sent from now on.
pub(super) fn settle(
    machine: &mut Machine,
    threads: &mut [&mut Thread],
    values: &mut [&mut Value],
    leaving: &[u16],
) {
    if machine.readings == 0 {
        return;
    }
    let mut met = Vec::new();
    let mut renumber = |reading: Reading, number: u16| {
        let new = reading.renamed(place(&mut met, number));
        match leaving.contains(&number) {
            true => new.sent(),
            false => new,
        }
    };
    machine.for_each_value(threads, values, &mut |value| match value {
        Value::Time(Time::At(_, Moment { reading, .. })) => {
            if let Some(number) = reading.number() {
                *reading = renumber(*reading, number);
            }
        }
        Value::Text(text) if text.is_symbolic() => {
            *text = Text::symbolic(map(text.bytes(), &mut |_, reading, number| {
                renumber(reading, number)
            }));
        }
        _ => {}
    });
    machine.readings = met.len() as u16;
}

/// The place of a number among those met, from 1.
fn place(met: &mut Vec<u16>, number: u16) -> u16 {
    let at = met.iter().position(|known| *known == number);
    let at = at.unwrap_or_else(|| {
        met.push(number);
        met.len() - 1
    });
    at as u16 + 1
}

/// A text with each of the client's own readings replaced; `f` gets its number, too.
fn map(text: &[u8], f: &mut impl FnMut(Span, Reading, u16) -> Reading) -> Vec<u8> {
    text::map_symbols(text, |symbol, out| {
        match symbol {
            Symbol::Time(span, reading) => {
                let new = reading.number().map(|number| f(span, reading, number));
                Symbol::Time(span, new.unwrap_or(reading))
            }
            other => other,
        }
        .write(out);
    })
}
