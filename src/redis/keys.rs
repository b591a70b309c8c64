//! Commands on keys of any type: existence and expiry.

use super::command::{Answer, Call};
use super::number::parse_i64;
use super::refusal::Refusal;
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
    let now = server.now_ms();
    set_expiry(server, call, 1000, now)
}

pub(super) fn pexpire(server: &mut Server, call: &Call<'_>) -> Answer {
    let now = server.now_ms();
    set_expiry(server, call, 1, now)
}

pub(super) fn expireat(server: &mut Server, call: &Call<'_>) -> Answer {
    set_expiry(server, call, 1000, 0)
}

pub(super) fn pexpireat(server: &mut Server, call: &Call<'_>) -> Answer {
    set_expiry(server, call, 1, 0)
}

/// The EXPIRE family: `argument * unit_ms + base_ms` is the new end.
fn set_expiry(server: &mut Server, call: &Call<'_>, unit_ms: i64, base_ms: i64) -> Answer {
    let condition = Condition::parse(&call.argv[3..])?;
    let amount = parse_i64(&call.argv[2]).ok_or(Refusal::NotAnInteger)?;
    let when = amount
        .checked_mul(unit_ms)
        .and_then(|ms| ms.checked_add(base_ms))
        .ok_or(Refusal::ExpireTime(call.name))?;
    let key = &call.argv[1];
    let Some(current) = server.expiry(key) else {
        return Ok(Reply::Int(0));
    };
    if !condition.allows(current, when) {
        return Ok(Reply::Int(0));
    }
    // A new end that is not in the future deletes at once, also when it is this
    // very ms, in which a key that expires by itself would still be there.
    if when <= server.now_ms() {
        server.remove(key);
    } else {
        server.set_expiry(key, Some(when));
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
    Ok(Reply::Int(time_to_live_ms(server, &call.argv[1])))
}

/// Whole seconds, rounded to the nearest: 499 ms left is 0, 500 ms is 1.
pub(super) fn ttl(server: &mut Server, call: &Call<'_>) -> Answer {
    let left = time_to_live_ms(server, &call.argv[1]);
    let seconds = if left < 0 {
        left
    } else {
        left.saturating_add(500) / 1000
    };
    Ok(Reply::Int(seconds))
}

/// -2 without a key, -1 without an expiry.
fn time_to_live_ms(server: &Server, key: &[u8]) -> i64 {
    match server.expiry(key) {
        None => -2,
        Some(None) => -1,
        Some(Some(when)) => when.saturating_sub(server.now_ms()).max(0),
    }
}
