//! Commands on keys of any type: existence and expiry.

use lockproof_lua::text::{Span, Symbol};
use lockproof_lua::{MOMENT_MS, RefusalKind};

use super::call::{Answer, Call};
use super::refusal::Refusal;
use super::server::Expiry;
use super::{Bytes, Reply, Server};

pub(super) fn del(server: &mut Server, call: &Call<'_>) -> Answer {
    let removed = call.argv[1..].iter().filter(|key| server.remove(key));
    Ok(Reply::Int(removed.count() as i64))
}

/// A key that is named twice counts twice.
pub(super) fn exists(server: &mut Server, call: &Call<'_>) -> Answer {
    let found = call.argv[1..].iter().filter(|key| server.contains(key));
    Ok(Reply::Int(found.count() as i64))
}

pub(super) fn type_of(server: &mut Server, call: &Call<'_>) -> Answer {
    let name = server
        .value(&call.argv[1])
        .map_or("none", |value| value.type_name());
    Ok(Reply::Status(name.to_owned()))
}

pub(super) fn flushall(server: &mut Server, call: &Call<'_>) -> Answer {
    match call.argv {
        [_] => {}
        [_, how] if how.eq_ignore_ascii_case(b"sync") || how.eq_ignore_ascii_case(b"async") => {}
        _ => return Err(Refusal::Syntax),
    }
    server.clear();
    Ok(Reply::Status("OK".to_owned()))
}

pub(super) fn expire(server: &mut Server, call: &Call<'_>) -> Answer {
    set_expiry(server, call, 1000, true)
}

pub(super) fn pexpire(server: &mut Server, call: &Call<'_>) -> Answer {
    set_expiry(server, call, 1, true)
}

pub(super) fn expireat(server: &mut Server, call: &Call<'_>) -> Answer {
    set_expiry(server, call, 1000, false)
}

pub(super) fn pexpireat(server: &mut Server, call: &Call<'_>) -> Answer {
    set_expiry(server, call, 1, false)
}

/// The EXPIRE family: the argument counts in `unit_ms`, from now or from 1970.
fn set_expiry(server: &mut Server, call: &Call<'_>, unit_ms: i64, relative: bool) -> Answer {
    let condition = Condition::parse(&call.argv[3..])?;
    let amount = server.amount(&call.argv[2], unit_ms, relative);
    let amount = amount.ok_or(Refusal::NotAnInteger)?;
    let end = amount.end(server, unit_ms, relative, call.name)?;
    let key = &call.argv[1];
    let Some(current) = server.expiry(key) else {
        return Ok(Reply::Int(0));
    };
    let near = |old: Expiry| old.ticks == end.ticks && (old.at_ms - end.at_ms).abs() <= MOMENT_MS;
    if condition.compares() && server.scale().is_some() && current.is_some_and(near) {
        server.notes_mut().refuse(
            RefusalKind::Rounding,
            "compares two ends of a key's life (GT, LT) that are only moments apart",
        );
    }
    if !condition.allows(current.map(|end| end.at_ms), end.at_ms) {
        return Ok(Reply::Int(0));
    }
    server.note_life(end);
    // A new end that is not in the future deletes at once, also when it is this
    // very ms, in which a key that expires by itself would still be there.
    if end.at_ms <= server.now_ms() {
        server.remove(key);
    } else {
        server.set_expiry(key, Some(end));
    }
    Ok(Reply::Int(1))
}

/// The options of the EXPIRE family.
#[derive(Default)]
struct Condition {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

impl Condition {
    fn parse(options: &[Bytes]) -> Result<Self, Refusal> {
        let mut condition = Self::default();
        for option in options {
            match option.to_ascii_lowercase().as_slice() {
                b"nx" => condition.nx = true,
                b"xx" => condition.xx = true,
                b"gt" => condition.gt = true,
                b"lt" => condition.lt = true,
                _ => {
                    let option = String::from_utf8_lossy(option);
                    return Err(Refusal::other(format!("ERR Unsupported option {option}")));
                }
            }
        }
        if condition.nx && (condition.xx || condition.gt || condition.lt) {
            return Err(Refusal::other(
                "ERR NX and XX, GT or LT options at the same time are not compatible",
            ));
        }
        if condition.gt && condition.lt {
            return Err(Refusal::other(
                "ERR GT and LT options at the same time are not compatible",
            ));
        }
        Ok(condition)
    }

    /// The new end is compared with the one that is there.
    fn compares(&self) -> bool {
        self.gt || self.lt
    }

    /// A key without expiry counts as one that ends after every other.
    fn allows(&self, current: Option<i64>, when: i64) -> bool {
        let nx = !self.nx || current.is_none();
        let xx = !self.xx || current.is_some();
        let gt = !self.gt || current.is_some_and(|end| when > end);
        let lt = !self.lt || current.is_none_or(|end| when < end);
        nx && xx && gt && lt
    }
}

pub(super) fn persist(server: &mut Server, call: &Call<'_>) -> Answer {
    let key = &call.argv[1];
    let had_expiry = server.expiry(key).flatten().is_some();
    server.set_expiry(key, None);
    Ok(Reply::Int(i64::from(had_expiry)))
}

pub(super) fn pttl(server: &mut Server, call: &Call<'_>) -> Answer {
    Ok(match time_to_live(server, &call.argv[1]) {
        Life::Span(span) if server.scale().is_some() => Reply::Bulk(Symbol::Count(span).text()),
        Life::Span(span) => Reply::Int(span.ms.max(0)),
        Life::Known(number) => Reply::Int(number),
    })
}

/// Whole seconds, rounded to the nearest: 499 ms left is 0, 500 ms is 1.
pub(super) fn ttl(server: &mut Server, call: &Call<'_>) -> Answer {
    let span = match time_to_live(server, &call.argv[1]) {
        Life::Known(number) => return Ok(Reply::Int(number)),
        Life::Span(span) => span,
    };
    let Some(scale) = server.scale() else {
        return Ok(Reply::Int(span.ms.max(0).saturating_add(500) / 1000));
    };
    let left = span.value(scale.tick_ms);
    let near = (left + 500) % 1000 < MOMENT_MS;
    if near || span.ticks != 0 && left % scale.tick_ms != 0 {
        server.notes_mut().refuse(
            RefusalKind::Rounding,
            "asks TTL for seconds where it depends on what happens between two ticks; use PTTL",
        );
    }
    Ok(Reply::Int((left.max(0) + 500) / 1000))
}

enum Life {
    /// -2 without a key, -1 without an expiry.
    Known(i64),
    Span(Span),
}

fn time_to_live(server: &Server, key: &[u8]) -> Life {
    match server.expiry(key) {
        None => Life::Known(-2),
        Some(None) => Life::Known(-1),
        Some(Some(end)) => Life::Span(server.life(end)),
    }
}
