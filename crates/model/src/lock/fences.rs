//! Fences that a program of a model remembers.

use std::sync::Arc;

use lockproof_lua::text::{self, Symbol, Text};
use lockproof_lua::{Machine, Thread, Value};

/// Rewrites the rank of each.
pub(super) fn map(
    machine: &mut Machine,
    threads: &mut [&mut Thread],
    values: &mut [&mut Value],
    f: &mut dyn FnMut(u8) -> u8,
) {
    machine.for_each_value(threads, values, &mut |value| match value {
        Value::Text(text) if text.is_symbolic() => {
            let bytes = text::map_symbols(text.bytes(), |symbol, out| {
                renumbered(symbol, f).write(out);
            });
            *text = Text::symbolic(bytes);
        }
        Value::Offset(place) => {
            let symbols = place.symbols.iter();
            let symbols = symbols.map(|symbol| renumbered(*symbol, f)).collect();
            let place = Arc::make_mut(place);
            place.symbols = symbols;
            place.symbols.sort_unstable();
        }
        _ => {}
    });
}

fn renumbered(symbol: Symbol, f: &mut dyn FnMut(u8) -> u8) -> Symbol {
    match symbol {
        Symbol::Fence(rank) => Symbol::Fence(f(rank)),
        Symbol::FenceCount(rank) => Symbol::FenceCount(f(rank)),
        other => other,
    }
}
