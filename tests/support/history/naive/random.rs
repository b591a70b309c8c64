//! Small random histories: few clients, few keys, a coarse clock, and everything
//! that the page allows.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Numbers that only depend on the seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf0_3635);
        random.below(2);
        random
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }

    fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }

    fn some(&mut self, all: &[Value]) -> Value {
        all[self.below(all.len() as u64) as usize].clone()
    }
}

/// A number below the bound, or null.
fn perhaps(random: &mut Random, bound: u64) -> Value {
    match random.one_in(2) {
        true => Value::Null,
        false => json!(random.below(bound)),
    }
}

struct Maker {
    random: Random,
    /// ms; a line's time.
    time: u64,
    lines: Vec<String>,
    /// What each process does, and what it said of it.
    open: BTreeMap<String, (&'static str, Value)>,
    /// What this history is about, so that short ones reach far.
    topic: Topic,
}

#[derive(Clone, Copy, PartialEq)]
enum Topic {
    Everything,
    /// One key, acquired and released.
    Lock,
    /// The same, and final reads.
    Finals,
    /// What is done under the lock, and final reads.
    Work,
}

/// A history with this seed.
pub fn history(seed: u64) -> String {
    let mut random = Random::new(seed);
    let header = json!({
        "schema": "lockproof.history/1",
        "lock": "any",
        "workload": "hold",
        "ttl_ms": 3,
        "clients": 3,
        "nodes": random.some(&[json!(1), json!(1), json!(1), json!(3)]),
        "reentrant": random.one_in(2),
        "params": { "winners": 2 },
    });
    let length = 4 + random.below(26);
    let mut maker = Maker {
        random,
        time: 0,
        lines: vec![header.to_string()],
        open: BTreeMap::new(),
        topic: match seed % 4 {
            0 => Topic::Everything,
            1 => Topic::Lock,
            2 => Topic::Finals,
            _ => Topic::Work,
        },
    };
    maker.start();
    for _ in 0..length {
        maker.time += [0, 0, 0, 1, 1, 2][maker.random.below(6) as usize];
        match maker.random.below(20) {
            0 => maker.nemesis(),
            1 | 2 if maker.topic != Topic::Lock => maker.harness(),
            3 if maker.topic == Topic::Finals => maker.harness(),
            _ => maker.client(),
        }
    }
    maker.lines.join("\n") + "\n"
}

impl Maker {
    fn say(&mut self, process: &str, kind: &str, f: &str, value: Value) {
        let process = match process.parse::<u64>() {
            Ok(client) => json!(client),
            Err(_) => json!(process),
        };
        let time = self.time * 1_000_000;
        let event = json!({"time": time, "process": process, "type": kind, "f": f, "value": value});
        self.lines.push(event.to_string());
    }

    fn start(&mut self) {
        let coupons = perhaps(&mut self.random, 4);
        let counter = perhaps(&mut self.random, 2);
        let mut value = serde_json::Map::new();
        for (name, number) in [("coupons", coupons), ("counter", counter)] {
            if !number.is_null() {
                value.insert(name.into(), number);
            }
        }
        if !value.is_empty() {
            self.say("harness", "info", "setup", Value::Object(value));
        }
    }

    fn nemesis(&mut self) {
        if self.random.one_in(6) {
            let fault = json!({"phase": "start", "fault": "failover"});
            return self.say("nemesis", "info", "failover", fault);
        }
        let client = self.random.below(3);
        self.open.remove(&client.to_string());
        self.say("nemesis", "info", "crash", json!({ "client": client }));
    }

    fn key(&mut self) -> Value {
        let keys = [json!(null), json!(null), json!("a"), json!("a"), json!("b")];
        if self.topic == Topic::Lock {
            return json!(null);
        }
        match self.random.one_in(20) {
            true => json!(""),
            false => self.random.some(&keys),
        }
    }

    fn harness(&mut self) {
        if let Some((f, value)) = self.open.remove("harness") {
            return self.end_read(f, value);
        }
        let all = [
            "final-set",
            "final-counter",
            "final-coupons",
            "final-keys",
            "final-keys",
            "final-acquire",
            "final-acquire",
        ];
        let all = match self.topic {
            Topic::Finals => &all[3..],
            Topic::Work => &all[..3],
            _ => &all[..],
        };
        let f = all[self.random.below(all.len() as u64) as usize];
        let value = match f {
            "final-acquire" => json!({ "key": self.key() }),
            _ => json!(null),
        };
        match self.random.one_in(2) {
            true => {
                self.say("harness", "invoke", f, value.clone());
                self.open.insert("harness".into(), (f, value));
            }
            false => self.end_read(f, value),
        }
    }

    fn end_read(&mut self, f: &'static str, value: Value) {
        let bad = self.random.below(if f == "final-acquire" { 3 } else { 8 });
        let kind = match bad {
            0 => "info",
            1 => "fail",
            _ if f == "final-acquire" && self.random.one_in(2) => "fail",
            _ => "ok",
        };
        let value = match f {
            "final-acquire" => value,
            _ if kind != "ok" => json!(null),
            "final-set" => {
                let all = [json!([1, 2, 3]), json!([1]), json!([]), json!([2, 3])];
                json!({ "elements": self.random.some(&all) })
            }
            "final-counter" => json!({ "value": self.random.below(4) }),
            "final-coupons" => json!({ "left": self.random.below(4) as i64 - 1 }),
            _ => self.keys(),
        };
        self.say("harness", kind, f, value);
    }

    fn keys(&mut self) -> Value {
        let count = 1 + self.random.below(2);
        let keys: Vec<Value> = (0..count)
            .map(|_| {
                let names = [json!("a"), json!("b"), json!("other")];
                let owners = [json!(0), json!(1), json!(2), json!(null)];
                json!({
                    "node": 0,
                    "key": self.random.some(&names),
                    "pttl_ms": self.random.some(&[json!(-1), json!(5)]),
                    "owner": self.random.some(&owners),
                })
            })
            .collect();
        let after = self.random.some(&[json!(null), json!(2), json!(3)]);
        json!({ "keys": keys, "after_ms": after })
    }

    fn client(&mut self) {
        let client = self.random.below(3).to_string();
        if let Some((f, asked)) = self.open.get(&client).cloned() {
            return match self.random.below(8) {
                0 => self.lost(&client),
                _ => {
                    self.open.remove(&client);
                    self.end(&client, f, &asked);
                }
            };
        }
        let all = [
            "acquire", "acquire", "acquire", "acquire", "acquire", "release", "release", "release",
            "release", "lost", "write", "take", "draw", "add",
        ];
        let all = match self.topic {
            Topic::Everything => &all[..],
            Topic::Lock | Topic::Finals => &all[..10],
            Topic::Work => &all[10..],
        };
        let f = all[self.random.below(all.len() as u64) as usize];
        let value = match f {
            "lost" => return self.lost(&client),
            "acquire" => json!({ "token": "t", "key": self.key() }),
            "release" if self.random.one_in(3) => json!({ "key": self.key() }),
            "write" => {
                let read = self.random.below(3);
                let fence = perhaps(&mut self.random, 4);
                json!({ "read": read, "wrote": read + 1, "fence": fence })
            }
            "draw" => json!({ "round": self.random.below(3) }),
            "add" => json!({ "element": 1 + self.random.below(3) }),
            _ => json!(null),
        };
        self.say(&client, "invoke", f, value.clone());
        self.open.insert(client, (f, value));
    }

    fn lost(&mut self, client: &str) {
        let value = match self.random.one_in(3) {
            true => json!({ "key": self.key() }),
            false => json!(null),
        };
        self.say(client, "info", "lost", value);
    }

    fn end(&mut self, client: &str, f: &'static str, asked: &Value) {
        let kind = match self.random.below(6) {
            0 => "fail",
            1 => "info",
            _ => "ok",
        };
        let value = match (f, kind) {
            ("acquire", "ok") => {
                // Often the same again, which only its last owner may get.
                let fence = match self.topic == Topic::Lock && self.random.one_in(2) {
                    true => json!(client.parse::<u64>().ok()),
                    false => perhaps(&mut self.random, 4),
                };
                json!({ "validity_ms": perhaps(&mut self.random, 7), "fence": fence })
            }
            ("release", "ok") => {
                let effects = [json!(true), json!(true), json!(false), json!(null)];
                json!({ "effect": self.random.some(&effects) })
            }
            ("take", "ok") => {
                let read = self.random.below(5);
                json!({ "read": read, "left": read as i64 - 1 })
            }
            ("draw", "ok") => {
                let all = [json!([1, 2]), json!(["a", 2]), json!([1, 2]), json!([1, 1])];
                json!({ "round": asked["round"], "winners": self.random.some(&all) })
            }
            _ => json!(null),
        };
        self.say(client, kind, f, value);
    }
}

/// The same lines; those of one time in another order, as far as they are of
/// different processes.
pub fn swapped(text: &str, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut lines = text.lines();
    let mut out = vec![lines.next().unwrap_or_default().to_owned()];
    let mut times: BTreeMap<u64, Vec<(String, &str)>> = BTreeMap::new();
    for (number, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
        let event: Value = serde_json::from_str(line).unwrap();
        let value = &event["value"];
        // A command is a process of its own; what only is noted has no order at all.
        let who = match event["process"].as_str() {
            None => event["process"].to_string(),
            Some("harness") => "harness".into(),
            Some(_) if value["id"].is_u64() => format!("command {}", value["id"]),
            Some(_) => format!("note {number}"),
        };
        let time = event["time"].as_u64().unwrap();
        times.entry(time).or_default().push((who, line));
    }
    for (_, mut group) in times {
        while !group.is_empty() {
            let chosen = random.below(group.len() as u64) as usize;
            let who = group[chosen].0.clone();
            let first = group.iter().position(|(other, _)| *other == who).unwrap();
            out.push(group.remove(first).1.to_owned());
        }
    }
    out.join("\n") + "\n"
}
