//! Runs one sequence on both sides and looks for a difference.

use std::fmt;

use lockproof_redis::{Bytes, Reply, SortedSet, Value};
use lockproof_trace::EPOCH_MS;

use super::bugs::Model;
use super::generate::{KEYS, Step};
use super::real::RealServer;

/// Where model and server part.
#[derive(Debug)]
pub struct Difference {
    place: String,
    model: String,
    real: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}\n  model: {}\n  real:  {}",
            self.place, self.model, self.real
        )
    }
}

fn same(place: impl FnOnce() -> String, model: String, real: String) -> Result<(), Difference> {
    if model == real {
        return Ok(());
    }
    Err(Difference {
        place: place(),
        model,
        real,
    })
}

/// A reply on one line, with bytes escaped.
pub fn shown(reply: &Reply) -> String {
    match reply {
        Reply::Bulk(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
        Reply::Array(items) => {
            let items: Vec<_> = items.iter().map(shown).collect();
            format!("[{}]", items.join(", "))
        }
        Reply::Error(line) => format!("-{line}"),
        Reply::Status(line) => format!("+{line}"),
        Reply::Int(value) => value.to_string(),
        Reply::Nil => "nil".to_owned(),
    }
}

/// Puts into order what a real server sends in none, and cuts TIME to whole ms,
/// below which Valkey goes on by itself while its clock stands still.
fn normal(argv: &[Bytes], reply: Reply) -> Reply {
    let width = match argv[0].to_ascii_lowercase().as_slice() {
        b"hgetall" => 2,
        b"hkeys" | b"hvals" | b"smembers" => 1,
        b"time" => return whole_ms(reply),
        _ => return reply,
    };
    match reply {
        Reply::Array(items) => {
            let mut groups: Vec<_> = items.chunks(width).map(<[Reply]>::to_vec).collect();
            groups.sort();
            Reply::Array(groups.concat())
        }
        other => other,
    }
}

/// A server leaves all channels in an order of its own, counting down.
fn sorted_farewell(argv: &[Bytes], mut frames: Vec<Reply>) -> Vec<Reply> {
    if argv.len() == 1 && argv[0].eq_ignore_ascii_case(b"unsubscribe") {
        let farewell = |frame: &Reply| match frame {
            Reply::Array(parts) if parts[0] == Reply::Bulk(b"unsubscribe".to_vec()) => {
                Some(parts.clone())
            }
            _ => None,
        };
        let start = frames.iter().position(|frame| farewell(frame).is_some());
        let said: Vec<_> = frames.iter().filter_map(farewell).collect();
        let mut channels: Vec<_> = said.iter().map(|parts| parts[1].clone()).collect();
        channels.sort();
        let sorted = said.into_iter().zip(channels).map(|(mut parts, channel)| {
            parts[1] = channel;
            Reply::Array(parts)
        });
        frames.splice(start.unwrap_or(frames.len()).., sorted);
    }
    frames
}

fn whole_ms(reply: Reply) -> Reply {
    match reply {
        Reply::Array(mut parts) if parts.len() == 2 => {
            if let Reply::Bulk(digits) = &mut parts[1] {
                digits.truncate(digits.len().saturating_sub(3));
            }
            Reply::Array(parts)
        }
        other => other,
    }
}

/// Runs a sequence on both, each from an empty state at the epoch.
///
/// Commands are sent in batches, which is many times faster. But Redis 8 reads
/// the clock once a batch and adds up what the commands took, by a clock that
/// does not stand still; on a busy machine that can be some ms. So a difference
/// counts only if it is also there when every command waits for its reply.
pub fn compare(model: &mut Model, real: &mut RealServer, steps: &[Step]) -> Result<(), Difference> {
    run(model, real, steps, usize::MAX).or_else(|_| run(model, real, steps, 1))
}

fn run(
    model: &mut Model,
    real: &mut RealServer,
    steps: &[Step],
    batch_max: usize,
) -> Result<(), Difference> {
    model.reset();
    real.reset();
    let mut run = Run {
        model,
        real,
        batch: Vec::new(),
        batch_max,
        heard: Vec::new(),
    };
    for step in steps {
        match step {
            Step::Command(argv) => run.push(argv.clone())?,
            Step::Transaction(all) => {
                for argv in all {
                    run.push(argv.clone())?;
                }
            }
            Step::Clock(offset_ms) => run.move_clock(*offset_ms)?,
            Step::Subscriber(argv) => run.subscriber(argv)?,
            Step::AsksForReplica(asks) => run.ask_for_replica(*asks)?,
        }
    }
    run.flush()?;
    // A last word on the subscriber's side brings in what is on its way.
    run.subscriber(&[b"PING".to_vec()])?;
    run.keyspace()
}

struct Run<'a> {
    model: &'a mut Model,
    real: &'a mut RealServer,
    /// Commands that can be sent in one go.
    batch: Vec<Vec<Bytes>>,
    batch_max: usize,
    /// Messages that the subscriber of the model got and has not been asked for.
    heard: Vec<Reply>,
}

impl Run<'_> {
    fn flush(&mut self) -> Result<(), Difference> {
        let batch = std::mem::take(&mut self.batch);
        let replies = self.real.pipeline(&batch);
        for (argv, real) in batch.iter().zip(replies) {
            let model = self.model.execute(0, argv);
            let (model, real) = (normal(argv, model), normal(argv, real));
            let (model, real) = (shown(&model), shown(&real));
            let place = || format!("the reply to {}", Step::Command(argv.clone()));
            same(place, model, real)?;
        }
        self.heard.extend(self.model.take_messages());
        Ok(())
    }

    fn move_clock(&mut self, offset_ms: i64) -> Result<(), Difference> {
        // The model drops a key when its time has passed, a server when it is
        // looked at; a clock that goes back must find both the same.
        self.look_at_all()?;
        self.flush()?;
        self.model.set_clock(EPOCH_MS + offset_ms);
        self.real.set_clock(EPOCH_MS + offset_ms);
        self.look_at_all()?;
        self.flush()
    }

    fn ask_for_replica(&mut self, asks: bool) -> Result<(), Difference> {
        self.flush()?;
        self.model.ask_for_replica(asks);
        self.real.ask_for_replica(asks);
        Ok(())
    }

    fn look_at_all(&mut self) -> Result<(), Difference> {
        let words = ["EXISTS"].into_iter().chain(KEYS);
        let argv = words.map(|word| word.as_bytes().to_vec()).collect();
        self.push(argv)
    }

    fn push(&mut self, argv: Vec<Bytes>) -> Result<(), Difference> {
        self.batch.push(argv);
        if self.batch.len() < self.batch_max {
            return Ok(());
        }
        self.flush()
    }

    fn subscriber(&mut self, argv: &[Bytes]) -> Result<(), Difference> {
        self.flush()?;
        let real = self.real.subscriber_ask(argv);
        let mut model = std::mem::take(&mut self.heard);
        let reply = self.model.execute(1, argv);
        // What a subscriber itself publishes comes before the reply to it.
        model.extend(self.model.take_messages());
        let real = sorted_farewell(argv, real);
        match reply {
            // Several confirmations arrive one by one.
            Reply::Array(items) if items.iter().all(|item| matches!(item, Reply::Array(_))) => {
                model.extend(items);
            }
            reply => model.push(reply),
        }
        same(
            || {
                format!(
                    "what the subscriber got at {}",
                    Step::Subscriber(argv.to_vec())
                )
            },
            shown(&Reply::Array(model)),
            shown(&Reply::Array(real)),
        )
    }

    /// Compares the data itself, not what the model's own commands say of it.
    fn keyspace(&mut self) -> Result<(), Difference> {
        let now_ms = self.model.now_ms();
        let mut model = Vec::new();
        for (key, value, end) in self.model.entries() {
            model.push(entry(key, value, end.map(|end| end.at_ms)));
        }
        let Reply::Array(keys) = self.ask("KEYS *")? else {
            panic!("KEYS gives an array");
        };
        let mut keys: Vec<String> = keys.iter().map(text).collect();
        keys.sort();
        let mut real = Vec::new();
        for key in keys {
            let value = self.value(&key)?;
            let expire_at_ms = match self.ask(&format!("PTTL {key}"))? {
                Reply::Int(-1) => None,
                Reply::Int(left) => Some(now_ms + left),
                other => panic!("PTTL gives a number, not {other:?}"),
            };
            real.push(entry(key.as_bytes(), &value, expire_at_ms));
        }
        same(
            || "the keyspace".to_owned(),
            model.join("; "),
            real.join("; "),
        )
    }

    fn ask(&mut self, line: &str) -> Result<Reply, Difference> {
        let argv = line
            .split(' ')
            .map(|word| word.as_bytes().to_vec())
            .collect();
        Ok(self.real.pipeline(&[argv]).remove(0))
    }

    fn value(&mut self, key: &str) -> Result<Value, Difference> {
        let kind = self.ask(&format!("TYPE {key}"))?;
        let command = match &kind {
            Reply::Status(kind) if kind == "string" => format!("GET {key}"),
            Reply::Status(kind) if kind == "hash" => format!("HGETALL {key}"),
            Reply::Status(kind) if kind == "list" => format!("LRANGE {key} 0 -1"),
            Reply::Status(kind) if kind == "set" => format!("SMEMBERS {key}"),
            _ => format!("ZRANGE {key} 0 -1 WITHSCORES"),
        };
        let items = match self.ask(&command)? {
            Reply::Bulk(bytes) => return Ok(Value::String(bytes)),
            Reply::Array(items) => items,
            other => panic!("{command} gave {other:?}"),
        };
        let items: Vec<Bytes> = items.into_iter().map(raw).collect();
        let pairs = || {
            items
                .chunks(2)
                .map(|pair| (pair[0].clone(), pair[1].clone()))
        };
        Ok(match kind {
            Reply::Status(kind) if kind == "hash" => Value::Hash(pairs().collect()),
            Reply::Status(kind) if kind == "list" => Value::List(items.into()),
            Reply::Status(kind) if kind == "set" => Value::Set(items.into_iter().collect()),
            _ => Value::SortedSet(
                pairs()
                    .map(|(member, score)| {
                        let score = String::from_utf8(score).unwrap();
                        (member, score.parse::<f64>().unwrap())
                    })
                    .collect::<SortedSet>(),
            ),
        })
    }
}

fn entry(key: &[u8], value: &Value, expire_at_ms: Option<i64>) -> String {
    let key = String::from_utf8_lossy(key);
    format!("{key} = {value:?} until {expire_at_ms:?}")
}

fn raw(reply: Reply) -> Bytes {
    match reply {
        Reply::Bulk(bytes) => bytes,
        other => panic!("a bulk string was expected, not {other:?}"),
    }
}

fn text(reply: &Reply) -> String {
    String::from_utf8(raw(reply.clone())).expect("the test's keys are text")
}
