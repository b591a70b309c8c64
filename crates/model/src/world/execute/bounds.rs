//! What is taken to grow for ever, or lies too far back.

use lockproof_lua::text::{self, Span, Symbol};
use lockproof_lua::{RefusalKind, Scale};
use lockproof_redis::{Bytes, Score, Value, Write};

use super::{Executed, elements, refuse};
use crate::world::counts::number;
use crate::world::node::Entry;
use crate::world::symbols;

/// A counter that a command moves below its negative, or a score that is moved beyond it, is
/// taken to grow for ever. Of a count that is moved above it is known how high it is at least.
const COUNTER_MAX: i64 = text::MANY as i64 - 1;

/// More elements of one key than these, or more keys, are taken to grow for ever.
pub(super) const ELEMENTS_MAX: usize = 16;

/// A text that grows beyond so many bytes is taken to grow for ever.
const TEXT_MAX: usize = 512;

/// More than a lock's state has: somebody goes on adding to it.
pub(super) fn has_grown(before: Option<&Entry>, after: &Entry) -> bool {
    match (&after.value, before.map(|before| &before.value)) {
        (Value::String(new), Some(Value::String(old))) => {
            new.len() > TEXT_MAX && new.len() > old.len()
        }
        (Value::String(_), _) => false,
        (Value::List(list), _) => list.len() > ELEMENTS_MAX,
        (collection, _) => elements(collection).len() > ELEMENTS_MAX,
    }
}

/// The counter that moved, and was not set, beyond the bound. One that is told only by how
/// high it is at least did not.
pub(super) fn counter_ran_away(before: &Entry, after: &Entry) -> Option<String> {
    let moved = |a: Option<i64>, b: Option<i64>| match (a, b) {
        (Some(a), Some(b)) => a != b && b.abs() > COUNTER_MAX && (a - b).abs() <= COUNTER_MAX,
        _ => false,
    };
    let ran = match (&before.value, &after.value) {
        (Value::String(a), Value::String(b)) => moved(number(a), number(b)),
        (Value::Hash(a), Value::Hash(b)) => b
            .iter()
            .any(|(field, value)| moved(a.get(field).and_then(|v| number(v)), number(value))),
        (Value::SortedSet(a), Value::SortedSet(b)) => b.ranked().iter().any(|(member, score)| {
            let whole = |score: Score| match score {
                Score::Number(score) if score.fract() == 0.0 => Some(score as i64),
                Score::Number(_) | Score::Stamp(_) => None,
            };
            moved(a.score(member).and_then(whole), whole(*score))
        }),
        _ => false,
    };
    ran.then(|| text::printable(&after.key))
}

/// A stamp of this distance is not kept exactly.
fn is_stale_span(span: Span, scale: Scale) -> bool {
    let ms = span.value(scale.step_ms);
    ms <= -scale.horizon_ms / 2 || ms >= scale.horizon_ms
}

/// A score that is written; one that is far back already is that for ever, and no more is
/// known of it.
fn is_stale(score: Score, scale: Scale) -> bool {
    match score {
        Score::Stamp(Symbol::Time(span, _)) => is_stale_span(span, scale),
        Score::Stamp(Symbol::Far(far)) => far.future,
        Score::Stamp(_) | Score::Number(_) => false,
    }
}

/// Stamps that are written must be fresh, and where they are told by their place
/// they must have been there: otherwise two of them could be taken for one.
pub(super) fn stale_stamps(executed: &mut Executed, written: &[Write], scale: Scale) {
    let (mut found, mut scored) = (false, false);
    for entry in &executed.after.entries {
        let mut look = |text: &[u8], element: &[u8], place: Option<&Bytes>| {
            let wrote = written
                .iter()
                .any(|p| p.key == entry.key && (p.element.as_ref() == place || place.is_none()));
            let here = symbols::place(&entry.key, element);
            found |= text::symbols(text).any(|symbol| match symbol {
                Symbol::Far(far) => far.future || far.place != here || far.node != 0,
                Symbol::Time(span, _) => wrote && is_stale_span(span, scale),
                _ => false,
            });
        };
        match &entry.value {
            Value::String(text) => look(text, b"", None),
            Value::Hash(hash) => {
                for (field, text) in hash {
                    look(text, field, Some(field));
                }
            }
            Value::List(list) => {
                for (index, item) in list.iter().enumerate() {
                    look(item, index.to_string().as_bytes(), Some(item));
                }
            }
            Value::Set(_) => {}
            Value::SortedSet(set) => {
                for (member, score) in set.ranked() {
                    let write = |place: &&Write| {
                        place.key == entry.key && place.element.as_ref() == Some(member)
                    };
                    let wrote = written.iter().any(|place| write(&place));
                    scored |= wrote && is_stale(score, scale);
                }
            }
        }
    }
    if found | scored {
        refuse(
            executed,
            RefusalKind::Horizon,
            "stores a time that lies so far back, or ahead, that the model does not keep it".into(),
        );
    }
}
