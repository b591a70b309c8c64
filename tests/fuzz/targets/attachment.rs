//! Attachment files, but for those that would ask a name server: what a resolver
//! answers is no business of this.

use lockproof_lab::topology::Attachment;
use serde_json::Value;
use std::net::SocketAddr;

use super::{Form, Target, same, text};

pub const TARGET: Target = Target {
    name: "attachment",
    run,
    form: Form::Toml,
    seeds: &[("compose", "toml")],
    words: &[
        "redis://",
        "http://",
        "redis://127.0.0.1:1",
        "[::1]:65536",
        "0.0.0.0",
        "nodes",
        "upstreams",
        "sentinels",
        "sentinel_group",
        "toxiproxy",
        "url",
        "listen",
        "seen_by_nodes",
        "ports",
        "lockproof.attach/1",
        "@",
        "65535",
        "65536",
    ],
    inputs: 400,
};

fn run(input: &[u8]) {
    let Some(text) = text(input) else { return };
    let value = toml::from_str::<Value>(text).ok();
    if value.is_some_and(|value| names_a_host(&value)) {
        return;
    }
    match Attachment::parse(text) {
        Ok(attachment) => {
            let again = Attachment::parse(text).expect("it could be read");
            same("read twice", &attachment, &again);
            let ports = &attachment.toxiproxy.ports;
            assert!(!ports.is_empty() && *ports.start() > 0);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if !text.contains("://") || text.lines().all(|line| is_no_name(line.trim())) {
        let _ = Attachment::from_urls(text, text);
    }
}

fn names_a_host(value: &Value) -> bool {
    match value {
        Value::String(text) => !is_no_name(text),
        Value::Array(items) => items.iter().any(names_a_host),
        Value::Object(fields) => fields.values().any(names_a_host),
        _ => false,
    }
}

/// It is no URL, or one of an address.
fn is_no_name(text: &str) -> bool {
    text.split(',').all(|one| match one.split_once("://") {
        Some((_, host)) => host.trim_end_matches('/').parse::<SocketAddr>().is_ok(),
        None => true,
    })
}
