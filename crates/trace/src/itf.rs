//! Traces in the Informal Trace Format (ITF), the JSON that Apalache and Quint
//! write, for the viewers and editors that were made for those.
//!
//! A state there is a map from variables to values. Ours: the clock, what just
//! happened, what each client believes, which messages are where, and which
//! properties are violated. Integers are written as `#bigint`, as the format
//! asks for values beyond 2^53 (a time stamp times a thousand gets there), and
//! functions as `#map`.
//!
//! Only writing is offered. ITF has no room for the pinned lock text, and a
//! replay from it would be a replay of something else.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::{ClientView, Event, FaultEvent, Step, Trace, TraceError, words};

const VARS: [&str; 5] = ["tick", "event", "clients", "messages", "violated"];

/// The trace as an ITF document. State 0 is the one before the first step.
pub fn itf(trace: &Trace) -> Value {
    let mut messages = BTreeMap::new();
    let mut states = vec![state(
        0,
        &Moment {
            tick: 0,
            event: "initial state".into(),
            line: None,
            clients: (0..trace.setup.clients).map(|_| unborn()).collect(),
            violated: &[],
        },
        &messages,
    )];
    for (i, step) in trace.steps.iter().enumerate() {
        follow(&mut messages, &step.event);
        states.push(state(i + 1, &Moment::after(trace, step), &messages));
    }
    json!({
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "source": trace.lock.path,
            "description": description(trace),
            "varTypes": {
                "tick": "Int",
                "event": "{ action: Str, line: Int }",
                "clients": "Str -> { phase: Str, believes: Bool, valid: Bool, validity_left_ms: Int, holds: Int }",
                "messages": "Int -> Str",
                "violated": "Set(Str)",
            },
        },
        "params": [],
        "vars": VARS,
        "states": states,
    })
}

/// Writes the ITF document to a file, whole or not at all.
pub fn write_itf(path: &Path, trace: &Trace) -> Result<(), TraceError> {
    super::file::write_text(path, &format!("{:#}\n", itf(trace)))
}

fn description(trace: &Trace) -> String {
    let assumptions = words::assumptions(&trace.assumptions);
    match &trace.property {
        Some(property) => format!(
            "{} violates {property} under {assumptions}",
            trace.lock.name
        ),
        None => format!("a random walk of {} under {assumptions}", trace.lock.name),
    }
}

struct Moment<'a> {
    tick: u32,
    event: String,
    line: Option<u32>,
    clients: Vec<ClientView>,
    violated: &'a [String],
}

impl<'a> Moment<'a> {
    fn after(trace: &Trace, step: &'a Step) -> Self {
        let actor = match &step.event {
            Event::Call { client, .. }
            | Event::Wake { client, .. }
            | Event::Choose { client, .. }
            | Event::Send { client, .. }
            | Event::Deliver { client, .. }
            | Event::Fail { client, .. }
            | Event::Outcome { client, .. }
            | Event::Assertion { client, .. }
            | Event::Write { client, .. } => format!("{}: ", words::client(*client)),
            Event::Execute { node, .. }
            | Event::Block { node, .. }
            | Event::HangUp { node, .. }
            | Event::Publish { node, .. } => {
                format!("{}: ", words::node(*node))
            }
            Event::Tick | Event::Fault { .. } => String::new(),
        };
        Moment {
            tick: step.tick,
            event: format!("{actor}{}", words::event(trace, &step.event)),
            line: step.source.as_ref().map(|s| s.line),
            clients: step.clients.clone(),
            violated: &step.violates,
        }
    }
}

fn unborn() -> ClientView {
    ClientView {
        phase: "idle".into(),
        believes: false,
        valid: false,
        validity_left_ms: None,
        holds: 0,
    }
}

fn int(value: impl Into<i64>) -> Value {
    json!({ "#bigint": value.into().to_string() })
}

fn state(index: usize, moment: &Moment, messages: &BTreeMap<u32, &'static str>) -> Value {
    let clients: Vec<Value> = moment
        .clients
        .iter()
        .enumerate()
        .map(|(i, view)| json!([words::client(i as u8), client(view)]))
        .collect();
    let messages: Vec<Value> = messages
        .iter()
        .map(|(id, place)| json!([int(*id), place]))
        .collect();
    json!({
        "#meta": { "index": index },
        "tick": int(moment.tick),
        // Line 0 stands for "no line acts": ITF has no null.
        "event": { "action": moment.event, "line": int(moment.line.unwrap_or(0)) },
        "clients": { "#map": clients },
        "messages": { "#map": messages },
        "violated": { "#set": moment.violated },
    })
}

fn client(view: &ClientView) -> Value {
    json!({
        "phase": view.phase,
        "believes": view.believes,
        "valid": view.valid,
        // A lock that states no validity has none left.
        "validity_left_ms": int(view.validity_left_ms.unwrap_or(0)),
        "holds": int(view.holds),
    })
}

/// Where each message is: `request`, `reply`, `delivered`, `failed` or `lost`.
fn follow(messages: &mut BTreeMap<u32, &'static str>, event: &Event) {
    let (message, place) = match event {
        Event::Send { message, .. } => (message, "request"),
        Event::Execute { message, .. } => (message, "reply"),
        Event::Publish { message, .. } => (message, "published"),
        Event::Deliver { message, .. } => (message, "delivered"),
        Event::Fail { message, .. } => (message, "failed"),
        Event::Fault {
            fault: FaultEvent::Lose { message, .. },
        } => (message, "lost"),
        _ => return,
    };
    messages.insert(*message, place);
}
