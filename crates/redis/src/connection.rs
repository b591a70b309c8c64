//! Commands about the connection and the server as such.

use super::call::{Answer, Call};
use super::number::parse_i64;
use super::refusal::Refusal;
use super::{Reply, Server};

pub(super) fn ping(server: &mut Server, call: &Call<'_>) -> Answer {
    let text = match call.argv {
        [_] => None,
        [_, text] => Some(text.clone()),
        _ => return Err(Refusal::Arity("ping".to_owned())),
    };
    let subscriber = server
        .subscriptions()
        .any(|(_, connection)| connection == call.connection);
    // A subscriber of RESP2 can only read messages, so PONG looks like one.
    if subscriber {
        let text = text.unwrap_or_default();
        return Ok(Reply::Array(vec![
            Reply::Bulk(b"pong".to_vec()),
            Reply::Bulk(text),
        ]));
    }
    Ok(match text {
        None => Reply::Status("PONG".to_owned()),
        Some(text) => Reply::Bulk(text),
    })
}

pub(super) fn echo(_: &mut Server, call: &Call<'_>) -> Answer {
    Ok(Reply::Bulk(call.argv[1].clone()))
}

/// Seconds and microseconds; the model's clock has whole milliseconds. (To a script of a
/// model its host answers.)
pub(super) fn time(server: &mut Server, _: &Call<'_>) -> Answer {
    if server.scale().is_some() {
        return Err(Refusal::Lacks(
            "TIME outside of a script, the server's own clock,",
        ));
    }
    let now_ms = server.now_ms();
    let seconds = now_ms.div_euclid(1000);
    let micros = now_ms.rem_euclid(1000) * 1000;
    Ok(Reply::Array(
        [seconds, micros]
            .map(|part| Reply::Bulk(part.to_string().into_bytes()))
            .into(),
    ))
}

/// A model server has no replicas: none acknowledges, and the caller's waiting
/// is the world's business. Replication is modelled one layer up.
pub(super) fn wait(_: &mut Server, call: &Call<'_>) -> Answer {
    parse_i64(&call.argv[1]).ok_or(Refusal::NotAnInteger)?;
    let timeout = parse_i64(&call.argv[2])
        .ok_or_else(|| Refusal::other("ERR timeout is not an integer or out of range"))?;
    if timeout < 0 {
        return Err(Refusal::other("ERR timeout is negative"));
    }
    Ok(Reply::Int(0))
}
