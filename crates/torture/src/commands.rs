//! Notes of a worker as events of the history.

use lockproof_history::{Event, Kind, Process};
use lockproof_lab::client::notes::{News, Note};
use serde_json::{Value, json};

/// How a note begins, in contrast to an event.
const NOTE: &[u8] = b"{\"at_ns\":";

/// What a line of a client's says: an event of its actor's, or a note of its
/// worker's. `None` for a line that a kill cut in two.
pub(super) fn read(line: &[u8], process: u32, began_ns: u64) -> Option<Event> {
    match line.starts_with(NOTE) {
        true => Some(event(serde_json::from_slice(line).ok()?, process, began_ns)),
        false => serde_json::from_slice(line).ok(),
    }
}

fn event(note: Note, process: u32, began_ns: u64) -> Event {
    // No client sends four thousand million commands.
    let id = (u64::from(process) << 32) | (note.number & 0xffff_ffff);
    let (kind, value) = match note.news {
        News::Sent(argv) => (
            Kind::Invoke,
            json!({ "client": process, "id": id, "argv": argv }),
        ),
        News::Reply(reply) => (Kind::Ok, replied(process, id, reply)),
        News::Failed => (Kind::Fail, json!({ "client": process, "id": id })),
        News::GivenUp => (Kind::Info, json!({ "client": process, "id": id })),
    };
    Event {
        time: note.at_ns.saturating_sub(began_ns),
        process: Process::Node(note.node.into()),
        kind,
        f: "execute".into(),
        value,
        error: None,
    }
}

fn replied(process: u32, id: u64, reply: Value) -> Value {
    json!({ "client": process, "id": id, "reply": reply })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockproof_lab::client::notes;

    #[test]
    fn a_note_is_told_from_an_event_and_becomes_one() {
        let note = |news| {
            let note = Note {
                at_ns: 1_500,
                node: 2,
                number: 7,
                news,
            };
            read(&notes::line(&note), 3, 1_000).unwrap()
        };
        let sent = note(News::Sent(vec!["DEL".into(), "k".into()]));
        assert_eq!((sent.time, sent.process), (500, Process::Node(2)));
        assert_eq!((sent.kind, sent.f.as_str()), (Kind::Invoke, "execute"));
        let id = (3u64 << 32) + 7;
        assert_eq!(
            sent.value,
            json!({ "client": 3, "id": id, "argv": ["DEL", "k"] })
        );
        let ok = note(News::Reply(json!({ "int": 1 })));
        assert_eq!(
            ok.value,
            json!({ "client": 3, "id": id, "reply": { "int": 1 } })
        );
        assert_eq!(note(News::GivenUp).kind, Kind::Info);
        assert_eq!(note(News::Failed).kind, Kind::Fail);
        let own = br#"{"time":9,"process":3,"type":"ok","f":"release"}"#;
        assert_eq!(read(own, 3, 1_000).unwrap().process, Process::Client(3));
        assert!(read(b"{\"at_ns\":12,\"no", 3, 1_000).is_none());
    }
}
