//! Who holds just now, and who is at work under the lock, as clients have told.
//!
//! The nemesis aims by it, while the run goes on. What it knows is what has come
//! through the clients' pipes, a fraction of a ms old; the judgement comes later,
//! from the file.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use lockproof_history::{Event, Kind, Process};

/// Who has been at work for less is about to look whether there is any, and gone
/// before a signal could reach him.
const AT_WORK: Duration = Duration::from_millis(4);

/// The holders of this moment. All compete for one key.
#[derive(Debug, Default)]
pub(super) struct Holders {
    acquired: u64,
    of: BTreeMap<u32, Hold>,
}

#[derive(Clone, Copy, Debug)]
struct Hold {
    number: u64,
    /// How often it has acquired: more than once if its lock is reentrant.
    depth: u32,
    /// Since when it works with the guarded resource.
    works: Option<Instant>,
}

impl Holders {
    /// Takes an event in. True if it is an acquire while another client held.
    pub fn see(&mut self, event: &Event, now: Instant) -> bool {
        let client = match event.process {
            Process::Client(client) => client,
            Process::Nemesis if event.f == "crash" => {
                let dead = event.value["client"].as_u64();
                self.of.retain(|client, _| Some(u64::from(*client)) != dead);
                return false;
            }
            _ => return false,
        };
        match (event.f.as_str(), event.kind) {
            ("acquire", Kind::Ok) => {
                if let Some(hold) = self.of.get_mut(&client) {
                    hold.depth += 1;
                    return self.of.len() > 1;
                }
                self.acquired += 1;
                let hold = Hold {
                    number: self.acquired,
                    depth: 1,
                    works: None,
                };
                self.of.insert(client, hold);
                return self.of.len() > 1;
            }
            ("release", Kind::Invoke) => self.give_back(client),
            ("lost", Kind::Info) => {
                self.of.remove(&client);
            }
            // Between the read and the write of the guarded resource.
            ("read", Kind::Ok) | ("take" | "draw" | "add", Kind::Invoke) => {
                self.set_work(client, Some(now));
            }
            ("write", Kind::Invoke) | ("take" | "draw" | "add", _) => self.set_work(client, None),
            _ => {}
        }
        false
    }

    /// Once; it holds on if it acquired more often.
    fn give_back(&mut self, client: u32) {
        match self.of.get_mut(&client) {
            Some(hold) if hold.depth > 1 => hold.depth -= 1,
            _ => {
                self.of.remove(&client);
            }
        }
    }

    fn set_work(&mut self, client: u32, works: Option<Instant>) {
        if let Some(hold) = self.of.get_mut(&client) {
            hold.works = works;
        }
    }

    /// How many holds have begun.
    pub fn acquired(&self) -> u64 {
        self.acquired
    }

    /// Clients at work under the lock, each with the number of its hold.
    pub fn at_work(&self, now: Instant) -> Vec<(u32, u64)> {
        let works = |hold: &Hold| {
            let since = hold.works.map(|since| now.saturating_duration_since(since));
            since.is_some_and(|since| since >= AT_WORK)
        };
        let holds = self.of.iter().filter(|(_, hold)| works(hold));
        holds.map(|(client, hold)| (*client, hold.number)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(process: Process, kind: Kind, f: &str) -> Event {
        Event {
            time: 0,
            process,
            kind,
            f: f.into(),
            value: json!({ "client": 0 }),
            error: None,
        }
    }

    #[test]
    fn whoever_is_between_read_and_write_for_a_while_is_at_work() {
        let begun = Instant::now();
        let at = |ms| begun + Duration::from_millis(ms);
        let mut holders = Holders::default();
        let mut client = |client, kind, f: &str, ms| {
            holders.see(&event(Process::Client(client), kind, f), at(ms));
            holders.at_work(at(ms + 5))
        };
        assert_eq!(client(0, Kind::Invoke, "acquire", 0), []);
        assert_eq!(client(0, Kind::Ok, "acquire", 0), [], "nothing read yet");
        assert_eq!(client(0, Kind::Ok, "read", 10), [(0, 1)]);
        assert_eq!(client(0, Kind::Invoke, "write", 20), []);
        assert_eq!(client(0, Kind::Invoke, "release", 20), []);
        assert_eq!(client(1, Kind::Ok, "acquire", 30), []);
        assert_eq!(client(1, Kind::Invoke, "draw", 30), [(1, 2)]);
        assert_eq!(client(1, Kind::Fail, "draw", 31), [], "drawn already");
        assert!(holders.at_work(at(31)).is_empty());
    }

    #[test]
    fn whoever_has_just_begun_or_died_is_not_at_work() {
        let now = Instant::now();
        let mut holders = Holders::default();
        holders.see(&event(Process::Client(0), Kind::Ok, "acquire"), now);
        holders.see(&event(Process::Client(0), Kind::Invoke, "add"), now);
        assert_eq!(holders.at_work(now), []);
        assert_eq!(holders.at_work(now + AT_WORK), [(0, 1)]);
        holders.see(&event(Process::Nemesis, Kind::Info, "crash"), now);
        assert_eq!(holders.at_work(now + AT_WORK), []);
    }

    #[test]
    fn an_inner_hold_is_none_of_its_own_and_its_end_is_not_the_outer_ones() {
        let begun = Instant::now();
        let mut holders = Holders::default();
        let mut client = |kind, f: &str, ms| {
            let at = begun + Duration::from_millis(ms);
            holders.see(&event(Process::Client(0), kind, f), at);
            holders.at_work(at + AT_WORK)
        };
        client(Kind::Ok, "acquire", 0);
        client(Kind::Ok, "read", 1);
        assert_eq!(client(Kind::Ok, "acquire", 10), [(0, 1)]);
        assert_eq!(client(Kind::Invoke, "release", 20), [(0, 1)]);
        assert_eq!(client(Kind::Invoke, "release", 30), []);
    }

    #[test]
    fn an_acquire_while_another_holds_is_told() {
        let now = Instant::now();
        let mut holders = Holders::default();
        let mut ok =
            |client| holders.see(&event(Process::Client(client), Kind::Ok, "acquire"), now);
        assert!(!ok(0) && !ok(0), "again by the same client");
        assert!(ok(1));
    }
}
