//! Which faults of a run struck anybody, read from its history.
//!
//! A fault that meets nobody shows nothing: a client that was told "busy" a moment
//! ago can be stopped for an hour and no lock breaks by it. A run in which every
//! fault was of that kind looks like one that a lock survived, so it must be told
//! apart. Like the oracles this looks at the file alone, and so works on any
//! history, also years later.
//!
//! A fault struck if, while it was in force, a client that it concerns held the lock,
//! was giving it back, or tried to get it and was not plainly told "busy". Faults of
//! clients and of links concern those clients, all others every client. A stop, a
//! death, a restart and a leap of a clock count at the moment at which they strike; a
//! clock that is off concerns every attempt.

use std::collections::{BTreeMap, BTreeSet};

use lockproof_history::{Event, Kind, Process};
use lockproof_lab::nemesis::FaultInfo;
use serde_json::Value;

/// What became of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strike {
    /// Its catalogue name.
    pub fault: String,
    /// When it began, in ns.
    pub at: u64,
    /// Whether it met anybody.
    pub struck: bool,
    /// Whom it met, or that it met nobody.
    pub words: String,
}

/// How many of these faults struck.
pub fn struck(strikes: &[Strike]) -> u64 {
    strikes.iter().filter(|strike| strike.struck).count() as u64
}

/// The faults of a history in the order in which they began.
///
/// # Errors
/// Those of the events.
pub fn strikes<E>(events: impl Iterator<Item = Result<Event, E>>) -> Result<Vec<Strike>, E> {
    let mut spans = Spans::default();
    for event in events {
        spans.see(&event?);
    }
    Ok(spans.finish())
}

#[derive(Default)]
struct Spans {
    faults: Vec<FaultSpan>,
    /// What each client is in the midst of.
    spans: BTreeMap<u32, Span>,
}

struct FaultSpan {
    id: Option<u64>,
    name: String,
    from: u64,
    /// When it was in force.
    started: Option<u64>,
    to: Option<u64>,
    /// Clients by their numbers in the history; `None` stands for all.
    concerns: Option<BTreeSet<u32>>,
    met: Option<String>,
    /// Why it cannot have met anybody.
    void: Option<String>,
}

/// From a client's call of acquire on.
struct Span {
    from: u64,
    /// How many of its acquires have not been given back.
    holds: u32,
}

/// How a span ended.
#[derive(Clone, Copy, PartialEq)]
enum SpanEnd {
    /// It held, or nobody knows.
    Held,
    /// It did not get the lock, and nobody said that it was taken.
    Failed,
    /// Somebody else had the lock.
    Busy,
}

impl FaultSpan {
    fn meets(&self, client: u32, span: &Span, until: u64, end: SpanEnd) -> bool {
        let at_once = FaultInfo::of(&self.name).is_some_and(|info| info.at_once);
        let last = match at_once {
            true => self.started.or(self.to),
            false => self.to,
        };
        let concerned = match &self.concerns {
            Some(clients) => clients.contains(&client),
            None => true,
        };
        let matters = end != SpanEnd::Busy || self.name == "client-skew";
        let overlaps = self.from <= until && last.is_none_or(|last| span.from <= last);
        concerned && matters && overlaps
    }
}

impl Spans {
    fn see(&mut self, event: &Event) {
        match event.process {
            Process::Client(client) => self.see_client(client, event),
            Process::Nemesis if event.f == "crash" => {
                let dead = event.value["client"].as_u64();
                if let Some(client) = dead.and_then(|client| u32::try_from(client).ok()) {
                    self.close(client, event.time, SpanEnd::Held);
                }
            }
            Process::Nemesis => self.see_fault(event),
            _ => {}
        }
    }

    fn see_client(&mut self, client: u32, event: &Event) {
        match (event.f.as_str(), event.kind) {
            ("acquire", Kind::Invoke) => {
                // One of unknown outcome may have held until here.
                if !self.holds(client) {
                    self.close(client, event.time, SpanEnd::Held);
                }
                let span = Span {
                    from: event.time,
                    holds: 0,
                };
                self.spans.entry(client).or_insert(span);
            }
            ("acquire", Kind::Ok) => {
                if let Some(span) = self.spans.get_mut(&client) {
                    span.holds += 1;
                }
            }
            // An inner acquire of a reentrant lock takes no hold away.
            ("acquire", Kind::Fail) if !self.holds(client) => {
                let busy = event.error.as_deref() == Some("busy");
                let end = if busy { SpanEnd::Busy } else { SpanEnd::Failed };
                self.close(client, event.time, end);
            }
            ("release", Kind::Ok | Kind::Fail | Kind::Info) => self.give_back(client, event.time),
            _ => {}
        }
    }

    /// An inner hold of a reentrant lock that ends takes the outer one not away.
    fn give_back(&mut self, client: u32, at: u64) {
        match self.spans.get_mut(&client) {
            Some(span) if span.holds > 1 => span.holds -= 1,
            _ => self.close(client, at, SpanEnd::Held),
        }
    }

    fn holds(&self, client: u32) -> bool {
        self.spans.get(&client).is_some_and(|span| span.holds > 0)
    }

    fn close(&mut self, client: u32, until: u64, end: SpanEnd) {
        let Some(span) = self.spans.remove(&client) else {
            return;
        };
        let open = self.faults.iter_mut().filter(|fault| fault.met.is_none());
        for fault in open.filter(|fault| fault.meets(client, &span, until, end)) {
            let what = match (span.holds > 0, end) {
                (true, _) => "held the lock",
                (false, SpanEnd::Held) => "may have held the lock",
                _ => "was acquiring",
            };
            fault.met = Some(format!("client {client} {what}"));
        }
    }

    fn see_fault(&mut self, event: &Event) {
        let id = event.value["id"].as_u64();
        let name = event.value["fault"].as_str().unwrap_or(&event.f);
        let phase = event.value["phase"].as_str();
        if phase == Some("start") {
            self.faults.push(FaultSpan {
                id,
                name: name.to_owned(),
                from: event.time,
                started: None,
                to: None,
                concerns: numbers(&event.value, "client"),
                met: None,
                void: None,
            });
            return;
        }
        let mut faults = self.faults.iter_mut().rev();
        let Some(fault) = faults.find(|fault| fault.id == id && fault.name == name) else {
            return;
        };
        let details = &event.value["details"];
        match phase {
            Some("started") => {
                fault.started = Some(event.time);
                fault.concerns = numbers(details, "processes").or(numbers(details, "clients"));
                fault.void = details["missed"].as_str().map(str::to_owned);
            }
            Some("failed") => {
                let why = details["error"].as_str().unwrap_or("nobody knows why");
                fault.void = Some(format!("it failed: {why}"));
            }
            Some("end") => fault.to = Some(event.time),
            _ => {}
        }
    }

    fn finish(mut self) -> Vec<Strike> {
        for client in self.spans.keys().copied().collect::<Vec<_>>() {
            self.close(client, u64::MAX, SpanEnd::Held);
        }
        let strike = |fault: FaultSpan| {
            let met = fault.met.filter(|_| fault.void.is_none());
            Strike {
                fault: fault.name,
                at: fault.from,
                struck: met.is_some(),
                words: met.or(fault.void).unwrap_or_else(|| {
                    "it concerned nobody who held the lock or was getting it".to_owned()
                }),
            }
        };
        self.faults.into_iter().map(strike).collect()
    }
}

/// One number, or a list of them, under this name.
fn numbers(value: &Value, name: &str) -> Option<BTreeSet<u32>> {
    let number = |value: &Value| u32::try_from(value.as_u64()?).ok();
    match &value[name] {
        Value::Array(items) => Some(items.iter().filter_map(number).collect()),
        one => Some([number(one)?].into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn client(time: u64, client: u32, kind: Kind, f: &str) -> Event {
        Event {
            time,
            process: Process::Client(client),
            kind,
            f: f.into(),
            value: Value::Null,
            error: (kind == Kind::Fail).then(|| "busy".into()),
        }
    }

    fn nemesis(time: u64, fault: &str, phase: &str, details: Value) -> Event {
        Event {
            time,
            process: Process::Nemesis,
            kind: Kind::Info,
            f: fault.into(),
            value: json!({ "phase": phase, "fault": fault, "id": 0, "details": details }),
            error: None,
        }
    }

    /// Client 0 holds from 10 to 30; client 1 is told "busy" all the time.
    fn work() -> Vec<Event> {
        vec![
            client(5, 0, Kind::Invoke, "acquire"),
            client(10, 0, Kind::Ok, "acquire"),
            client(12, 1, Kind::Invoke, "acquire"),
            client(18, 1, Kind::Fail, "acquire"),
            client(30, 0, Kind::Invoke, "release"),
            client(32, 0, Kind::Ok, "release"),
            client(40, 1, Kind::Invoke, "acquire"),
            client(60, 1, Kind::Fail, "acquire"),
        ]
    }

    fn judged(fault: &str, from: u64, to: u64, details: Value) -> Strike {
        let mut events = work();
        events.push(nemesis(from, fault, "start", Value::Null));
        events.push(nemesis(from + 1, fault, "started", details));
        events.push(nemesis(to, fault, "end", json!({})));
        events.sort_by_key(|event| event.time);
        let found = strikes(events.into_iter().map(Ok::<_, ()>)).unwrap();
        assert_eq!(found.len(), 1);
        found.into_iter().next().unwrap()
    }

    #[test]
    fn a_pause_strikes_a_holder_and_nobody_who_was_told_busy() {
        let pause = |from, client| judged("client-pause", from, 50, json!({ "clients": [client] }));
        assert!(pause(15, 0).struck);
        assert_eq!(pause(15, 0).words, "client 0 held the lock");
        assert!(!pause(15, 1).struck);
        assert!(!pause(35, 0).struck, "it had given the lock back");
        assert!(!pause(45, 1).struck, "stopped while it was told busy");
    }

    #[test]
    fn who_came_back_is_known_by_the_number_that_he_has_now() {
        let details = json!({ "clients": [7], "processes": [0] });
        assert!(judged("client-crash", 15, 50, details).struck);
    }

    #[test]
    fn a_fault_of_a_server_concerns_everybody_and_one_at_once_only_that_moment() {
        let at = |fault: &str, from| judged(fault, from, 50, json!({ "servers": ["node-0"] }));
        assert!(at("clock-jump", 15).struck);
        assert!(!at("clock-jump", 35).struck);
        assert!(at("server-pause", 2).struck, "it was in force later");
        assert!(!at("server-pause", 35).struck);
    }

    #[test]
    fn a_clock_that_is_off_concerns_every_attempt() {
        let skew = judged("client-skew", 35, 50, json!({ "clients": [1] }));
        assert!(skew.struck, "{skew:?}");
    }

    #[test]
    fn a_fault_that_found_nobody_or_failed_struck_nobody() {
        let missed = judged(
            "client-pause",
            15,
            50,
            json!({ "clients": [], "missed": "nobody" }),
        );
        assert_eq!((missed.struck, missed.words.as_str()), (false, "nobody"));
        let mut events = work();
        events.insert(3, nemesis(16, "failover", "start", Value::Null));
        let failed = nemesis(17, "failover", "failed", json!({ "error": "no replica" }));
        events.insert(4, failed);
        let found = strikes(events.into_iter().map(Ok::<_, ()>)).unwrap();
        assert_eq!(found[0].words, "it failed: no replica");
        assert!(!found[0].struck);
    }

    #[test]
    fn who_gave_an_inner_hold_back_holds_on() {
        let events = vec![
            client(5, 0, Kind::Invoke, "acquire"),
            client(6, 0, Kind::Ok, "acquire"),
            client(7, 0, Kind::Invoke, "acquire"),
            client(8, 0, Kind::Ok, "acquire"),
            client(9, 0, Kind::Invoke, "release"),
            client(10, 0, Kind::Ok, "release"),
            nemesis(20, "partition", "start", Value::Null),
            nemesis(30, "partition", "end", Value::Null),
            client(40, 0, Kind::Invoke, "release"),
            client(41, 0, Kind::Ok, "release"),
        ];
        let found = strikes(events.into_iter().map(Ok::<_, ()>)).unwrap();
        assert!(found[0].struck);
    }

    #[test]
    fn an_acquire_without_an_end_may_have_held() {
        let events = vec![
            client(5, 0, Kind::Invoke, "acquire"),
            nemesis(10, "partition", "start", Value::Null),
            nemesis(20, "partition", "end", Value::Null),
        ];
        let found = strikes(events.into_iter().map(Ok::<_, ()>)).unwrap();
        assert!(found[0].struck);
    }
}
