//! Publish and subscribe.
//!
//! A publication is delivered to the connections in order of their number;
//! a real server's order is unspecified. Patterns and shards are left out: no
//! lock of the catalogue uses them.

use super::call::{Answer, Call};
use super::{Bytes, Reply, Server};

pub(super) fn publish(server: &mut Server, call: &Call<'_>) -> Answer {
    let listeners = server.publish(&call.argv[1], &call.argv[2]);
    Ok(Reply::Int(listeners as i64))
}

pub(super) fn subscribe(server: &mut Server, call: &Call<'_>) -> Answer {
    let confirmations = call.argv[1..].iter().map(|channel| {
        server.subscribe(call.connection, channel.clone());
        confirmation("subscribe", Some(channel), server, call.connection)
    });
    Ok(joined(confirmations.collect()))
}

/// Without channels: from all of them.
pub(super) fn unsubscribe(server: &mut Server, call: &Call<'_>) -> Answer {
    let mut channels = call.argv[1..].to_vec();
    if channels.is_empty() {
        channels = server.channels_of(call.connection);
    }
    if channels.is_empty() {
        return Ok(confirmation("unsubscribe", None, server, call.connection));
    }
    let confirmations = channels.iter().map(|channel| {
        server.unsubscribe(call.connection, channel);
        confirmation("unsubscribe", Some(channel), server, call.connection)
    });
    Ok(joined(confirmations.collect()))
}

/// What changed, the channel, and how many subscriptions the connection has now.
fn confirmation(what: &str, channel: Option<&Bytes>, server: &Server, connection: u32) -> Reply {
    Reply::Array(vec![
        Reply::Bulk(what.as_bytes().to_vec()),
        channel.map_or(Reply::Nil, |channel| Reply::Bulk(channel.clone())),
        Reply::Int(server.channels_of(connection).len() as i64),
    ])
}

/// One confirmation stands by itself, several in an array.
fn joined(mut confirmations: Vec<Reply>) -> Reply {
    match confirmations.len() {
        1 => confirmations.remove(0),
        _ => Reply::Array(confirmations),
    }
}
