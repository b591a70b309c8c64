//! What happened, into the history, from many threads at once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use lockproof_history::{Event, Header, Kind, Process, WINDOW_NS, Writer};
use lockproof_lab::monotonic::now_ns;

use super::holders::Holders;

/// A line that is further behind than this is written as of now, because a reader
/// would not mend its order any more. As a rule its writer was stopped between
/// reading the clock and writing, and did nothing meanwhile: to its world the
/// event happened when it could go on. If nobody had stopped it, this process was
/// too slow to listen, which counts as a stall.
const STALE_NS: u64 = WINDOW_NS / 10 * 9;

/// Figures of a run that is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lock operations that ended, whatever their outcome.
    pub operations: u64,
    /// Acquires that succeeded.
    pub acquired: u64,
    /// Times a client found that it had not run, though nobody had stopped it.
    pub stalls: u64,
    /// The longest of these, in ms.
    pub stall_max_ms: u64,
    /// Acquires that succeeded while another client believed that it held: what
    /// can be counted on the way. The judgement comes later, from the file.
    pub double_holds: u64,
}

/// Writes the history of a run. Clones write to the same file.
#[derive(Clone)]
pub struct Recorder {
    inner: Arc<Mutex<Inner>>,
    began_ns: u64,
}

struct Inner {
    writer: Writer<File>,
    tally: Tally,
    newest: u64,
    /// The newest time of each client.
    newest_of: BTreeMap<u32, u64>,
    /// Clients that believe that they hold.
    holders: Holders,
    /// When the nemesis stopped or killed a client, from and to, in ns.
    stops: Vec<(u64, Option<u64>)>,
    /// The first error of the file; what comes after it is not written.
    broken: Option<io::Error>,
    /// The end is written, and nothing comes behind it.
    ended: bool,
}

impl Recorder {
    /// Begins the history of a run that began at `began_ns`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(path: &Path, header: &Header, began_ns: u64) -> io::Result<Recorder> {
        let inner = Inner {
            writer: Writer::create(File::create(path)?, header)?,
            tally: Tally::default(),
            newest: 0,
            newest_of: BTreeMap::new(),
            holders: Holders::default(),
            stops: Vec::new(),
            broken: None,
            ended: false,
        };
        Ok(Recorder {
            inner: Arc::new(Mutex::new(inner)),
            began_ns,
        })
    }

    /// Nanoseconds since the run began.
    pub fn now(&self) -> u64 {
        now_ns().saturating_sub(self.began_ns)
    }

    /// When the run began, on the monotonic clock.
    pub fn began_ns(&self) -> u64 {
        self.began_ns
    }

    /// Writes down an event that happened just now.
    pub fn say(&self, process: Process, kind: Kind, f: &str, value: serde_json::Value) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let event = Event {
            time: self.now(),
            process,
            kind,
            f: f.to_owned(),
            value,
            error: None,
        };
        inner.write(&event);
    }

    /// Writes down an event that somebody else told.
    pub fn record(&self, mut event: Event) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if event.time.saturating_add(STALE_NS) < inner.newest {
            let now = self.now();
            inner.count_stall(event.time, now, (now - event.time.min(now)) / 1_000_000);
            let sent = matches!(event.process, Process::Node(_)) && event.kind == Kind::Invoke;
            // A command may have been on its way before anybody heard of it: its
            // interval must not begin later than it can be helped.
            event.time = match sent {
                true => inner.newest - STALE_NS,
                false => now,
            };
        }
        inner.keep_order(&mut event);
        inner.write(&event);
    }

    /// Writes the end: the run did all that it was to do, or was interrupted. Nothing
    /// is written behind it.
    pub fn end(&self, complete: bool) {
        let value = serde_json::json!({ "complete": complete });
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let event = Event {
            time: self.now().max(inner.newest),
            process: Process::Harness,
            kind: Kind::Info,
            f: "end".into(),
            value,
            error: None,
        };
        inner.write(&event);
        inner.ended = true;
    }

    /// The figures so far.
    pub fn tally(&self) -> Tally {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.tally
    }

    /// Who works under the lock just now: clients with the numbers of their holds.
    pub fn at_work(&self) -> Vec<(u32, u64)> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.holders.at_work(Instant::now())
    }

    /// How many holds have begun so far.
    pub fn holds(&self) -> u64 {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.holders.acquired()
    }

    /// The error that ended the writing, if one did.
    pub fn take_error(&self) -> Option<io::Error> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.broken.take()
    }
}

impl Inner {
    /// What a client says next is not earlier than what it said before, also if
    /// that was moved to when it was heard and this was not.
    fn keep_order(&mut self, event: &mut Event) {
        if let Process::Client(client) = event.process {
            let newest = self.newest_of.entry(client).or_default();
            event.time = event.time.max(*newest);
            *newest = event.time;
        }
    }

    fn write(&mut self, event: &Event) {
        if self.broken.is_some() || self.ended {
            return;
        }
        self.newest = self.newest.max(event.time);
        self.count(event);
        if let Err(error) = self.writer.append(event) {
            self.broken = Some(error);
        }
    }

    fn count(&mut self, event: &Event) {
        let lock = matches!(event.f.as_str(), "acquire" | "release");
        self.tally.operations += u64::from(lock && event.kind != Kind::Invoke);
        self.tally.acquired += u64::from(event.f == "acquire" && event.kind == Kind::Ok);
        let doubled = self.holders.see(event, Instant::now());
        self.tally.double_holds += u64::from(doubled);
        match event.f.as_str() {
            "client-pause" | "client-crash" | "client-restart" => self.note_stop(event),
            "stall" => self.note_stall(event),
            _ => {}
        }
    }

    fn note_stop(&mut self, event: &Event) {
        match event.value["phase"].as_str() {
            Some("start") => self.stops.push((event.time, None)),
            Some("end") => {
                for (_, end) in self.stops.iter_mut().filter(|(_, end)| end.is_none()) {
                    *end = Some(event.time);
                }
            }
            _ => {}
        }
    }

    /// A gap that no stop of the nemesis's explains is the machine's own.
    fn note_stall(&mut self, event: &Event) {
        let gap_ms = event.value["gap_ms"].as_u64().unwrap_or(0);
        let from = event.time.saturating_sub(gap_ms.saturating_mul(1_000_000));
        self.count_stall(from, event.time, gap_ms);
    }

    fn count_stall(&mut self, from: u64, to: u64, gap_ms: u64) {
        let explains =
            |(begin, end): &(u64, Option<u64>)| *begin < to && end.is_none_or(|end| end > from);
        if !self.stops.iter().any(explains) {
            self.tally.stalls += 1;
            self.tally.stall_max_ms = self.tally.stall_max_ms.max(gap_ms);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn recorder(folder: &Path) -> Recorder {
        let header = Header {
            schema: lockproof_history::SCHEMA.into(),
            lock: "token".into(),
            workload: "hold".into(),
            ttl_ms: 2000,
            clients: 3,
            nodes: 1,
            seed: 1,
            scenario: None,
            reentrant: false,
            versions: Default::default(),
            params: Default::default(),
        };
        // Some time ago, so that there is room for events of the past.
        let began_ns = now_ns().saturating_sub(2_050_000_000);
        Recorder::create(&folder.join("history.jsonl"), &header, began_ns).unwrap()
    }

    #[test]
    fn a_clients_times_never_go_back_though_a_late_line_was_moved() {
        let folder = tempfile::tempdir().unwrap();
        let recorder = recorder(folder.path());
        let tell = |client, time, kind| {
            recorder.record(Event {
                time,
                process: Process::Client(client),
                kind,
                f: "acquire".into(),
                value: json!(null),
                error: None,
            });
        };
        // Client 0 was stopped between reading the clock and writing; what it says
        // next is late as well, and not late enough to be moved for that.
        tell(1, 2_000_000_000, Kind::Invoke);
        tell(0, 1_000_000_000, Kind::Invoke);
        tell(0, 1_980_000_000, Kind::Fail);
        tell(0, 1_990_000_000, Kind::Invoke);
        let stalls = recorder.tally();
        assert_eq!(
            stalls.stalls, 1,
            "nobody had stopped it: the machine was slow"
        );
        assert!(stalls.stall_max_ms > 1000);
        let file = File::open(folder.path().join("history.jsonl")).unwrap();
        let reader = lockproof_history::Reader::new(std::io::BufReader::new(file)).unwrap();
        let times: Vec<u64> = reader
            .map(|event| event.unwrap())
            .filter(|event| event.process == Process::Client(0))
            .map(|event| event.time)
            .collect();
        assert_eq!(times.len(), 3);
        assert!(times.is_sorted(), "{times:?}");
    }

    #[test]
    fn double_holds_are_counted_while_a_run_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let recorder = recorder(folder.path());
        let say = |client, kind, f: &str| {
            recorder.say(Process::Client(client), kind, f, json!(null));
            recorder.tally().double_holds
        };
        assert_eq!(say(0, Kind::Ok, "acquire"), 0);
        assert_eq!(say(0, Kind::Ok, "acquire"), 0, "again by the same client");
        assert_eq!(say(1, Kind::Ok, "acquire"), 1);
        say(1, Kind::Invoke, "release");
        assert_eq!(say(2, Kind::Ok, "acquire"), 2, "client 0 holds still");
        recorder.say(
            Process::Nemesis,
            Kind::Info,
            "crash",
            json!({ "client": 0 }),
        );
        say(2, Kind::Info, "lost");
        assert_eq!(say(1, Kind::Ok, "acquire"), 2, "nobody else holds any more");
    }
}
