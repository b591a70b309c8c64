//! The model under test, and bugs to plant in it.
//!
//! Each is a mistake that a model of Redis can really make: an off-by-one ms,
//! an option forgotten, a conversion taken from the wrong language version.

use lockproof_redis::{Bytes, Dialect, Expiry, Published, Reply, ScriptEngine, Server, Value};
use lockproof_trace::EPOCH_MS;
use sha1::{Digest, Sha1};

/// A planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A key is gone already in the ms at which it expires.
    ExpiresOneMsEarly,
    /// A plain SET keeps the expiry that the key had.
    SetKeepsTtl,
    /// SET ... NX overwrites.
    NxIsIgnored,
    /// TTL cuts off instead of rounding.
    TtlRoundsDown,
    /// HINCRBY removes the hash's expiry.
    HincrbyPersists,
    /// DEL counts what it was given, not what was there.
    DelCountsItsArguments,
    /// LREM with a negative count removes from the left.
    LremIgnoresDirection,
    /// A missing value is `nil` in Lua, as in other languages' clients.
    ScriptsSeeNil,
    /// A script that fails is rolled back.
    ScriptsAreAtomic,
    /// PUBLISH reaches nobody.
    PublishIsLost,
    /// EVAL does not teach the server the script.
    EvalForgetsScript,
    /// A clock that goes back brings keys back.
    ClockBackRevives,
    /// A command that would change nothing is not refused for want of replicas.
    EmptyWritesNeedNoReplica,
    /// WATCH watches nothing.
    WatchIsIgnored,
    /// A watch does not see that an equal value was written.
    EqualValueIsNoWrite,
    /// A watch does not see that its key has expired.
    ExpiryIsNoWrite,
    /// DISCARD leaves the watch of its connection.
    DiscardKeepsWatch,
    /// EXEC of a transaction that it refuses leaves the watch of its connection.
    AbortKeepsWatch,
}

impl Bug {
    pub const ALL: [Self; 18] = [
        Self::ExpiresOneMsEarly,
        Self::SetKeepsTtl,
        Self::NxIsIgnored,
        Self::TtlRoundsDown,
        Self::HincrbyPersists,
        Self::DelCountsItsArguments,
        Self::LremIgnoresDirection,
        Self::ScriptsSeeNil,
        Self::ScriptsAreAtomic,
        Self::PublishIsLost,
        Self::EvalForgetsScript,
        Self::ClockBackRevives,
        Self::EmptyWritesNeedNoReplica,
        Self::WatchIsIgnored,
        Self::EqualValueIsNoWrite,
        Self::ExpiryIsNoWrite,
        Self::DiscardKeepsWatch,
        Self::AbortKeepsWatch,
    ];
}

pub struct Model {
    server: Server,
    engine: ScriptEngine,
    dialect: Dialect,
    bug: Option<Bug>,
    /// Keys that a bug took away and may bring back.
    gone: Vec<(Bytes, Value, Expiry)>,
}

impl Model {
    pub fn new(dialect: Dialect, bug: Option<Bug>) -> Self {
        Self {
            server: Server::new(EPOCH_MS).with_dialect(dialect),
            engine: ScriptEngine::new().unwrap(),
            dialect,
            bug,
            gone: Vec::new(),
        }
    }

    /// An empty server at the epoch; the engine stays, as it must be able to.
    pub fn reset(&mut self) {
        self.server = Server::new(EPOCH_MS).with_dialect(self.dialect);
        self.gone.clear();
    }

    pub fn now_ms(&self) -> i64 {
        self.server.now_ms()
    }

    pub fn entries(&self) -> impl Iterator<Item = (&Bytes, &Value, Option<Expiry>)> {
        self.server.entries()
    }

    pub fn take_messages(&mut self) -> Vec<Reply> {
        let as_sent = |message: Published| {
            Reply::Array(vec![
                Reply::Bulk(b"message".to_vec()),
                Reply::Bulk(message.channel),
                Reply::Bulk(message.payload),
            ])
        };
        self.server
            .take_messages()
            .into_iter()
            .map(as_sent)
            .collect()
    }

    pub fn reply_to(&mut self, words: &[&str]) -> Reply {
        let argv: Vec<Bytes> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        self.reset();
        self.execute(0, &argv)
    }

    pub fn set_clock(&mut self, now_ms: i64) {
        let back = now_ms < self.server.now_ms();
        let dying = |(key, value, end): (&Bytes, &Value, Option<Expiry>)| {
            Some((
                key.clone(),
                value.clone(),
                end.filter(|end| now_ms > end.at_ms)?,
            ))
        };
        match self.bug {
            Some(Bug::ClockBackRevives) => {
                self.gone.extend(self.server.entries().filter_map(dying));
                self.server.set_clock(now_ms);
                for (key, value, end) in self.gone.clone() {
                    if back && now_ms <= end.at_ms {
                        self.server.insert(key, value, Some(end));
                    }
                }
            }
            Some(Bug::ExpiryIsNoWrite) => {
                let before = self.server.clone();
                self.server.set_clock(now_ms);
                self.watch_as(&before);
            }
            Some(Bug::ExpiresOneMsEarly) => {
                self.server.set_clock(now_ms + 1);
                self.server.set_clock(now_ms);
            }
            _ => self.server.set_clock(now_ms),
        }
    }

    /// Everybody watches what they watched before, as they did.
    fn watch_as(&mut self, before: &Server) {
        for (connection, watched) in before.watches() {
            self.server.insert_watch(connection, watched.clone());
        }
    }

    pub fn ask_for_replica(&mut self, asks: bool) {
        self.server.set_lacks_replicas(asks);
    }

    pub fn execute(&mut self, connection: u32, argv: &[Bytes]) -> Reply {
        // What one command lacked is no business of the next.
        self.server.take_notes();
        let Some(bug) = self.bug else {
            return self.server.execute(&mut self.engine, connection, argv);
        };
        let before = self.server.clone();
        let changed = mistaken_command(bug, argv);
        let reply = self.server.execute(&mut self.engine, connection, &changed);
        self.mistaken_reply(bug, argv, reply, before)
    }

    fn mistaken_reply(&mut self, bug: Bug, argv: &[Bytes], reply: Reply, before: Server) -> Reply {
        let name = argv[0].to_ascii_lowercase();
        match (bug, name.as_slice(), &reply) {
            (Bug::TtlRoundsDown, b"ttl", Reply::Int(0..)) => {
                let pttl: [Bytes; 2] = [b"pttl".to_vec(), argv[1].clone()];
                match self.server.execute(&mut self.engine, 0, &pttl) {
                    Reply::Int(ms) => Reply::Int(ms / 1000),
                    other => other,
                }
            }
            (Bug::HincrbyPersists, b"hincrby", Reply::Int(_)) => {
                let persist: [Bytes; 2] = [b"persist".to_vec(), argv[1].clone()];
                self.server.execute(&mut self.engine, 0, &persist);
                reply
            }
            (Bug::DelCountsItsArguments, b"del", Reply::Int(_)) => {
                Reply::Int(argv.len() as i64 - 1)
            }
            (Bug::EmptyWritesNeedNoReplica, b"del", Reply::Error(line))
                if line.starts_with("NOREPLICAS") =>
            {
                let keys: Vec<_> = self.server.entries().map(|(key, ..)| key).collect();
                match argv[1..].iter().any(|key| keys.contains(&key)) {
                    true => reply,
                    false => Reply::Int(0),
                }
            }
            (Bug::ScriptsAreAtomic, b"eval", Reply::Error(_)) => {
                self.server = before;
                reply
            }
            (Bug::EqualValueIsNoWrite, b"set", Reply::Status(_)) => {
                if self.server.entries().eq(before.entries()) {
                    self.watch_as(&before);
                }
                reply
            }
            (Bug::DiscardKeepsWatch, b"discard", Reply::Status(_)) => {
                self.watch_as(&before);
                reply
            }
            (Bug::AbortKeepsWatch, b"exec", Reply::Error(line))
                if line.starts_with("EXECABORT") =>
            {
                self.watch_as(&before);
                reply
            }
            (Bug::PublishIsLost, b"publish", Reply::Int(_)) => {
                self.server = before;
                reply
            }
            (Bug::EvalForgetsScript, b"eval", _) => {
                self.server.forget_scripts();
                reply
            }
            // The text that was run is another one, and errors would tell.
            (Bug::ScriptsSeeNil, b"eval", Reply::Error(line)) => {
                let sha = |text: &[u8]| {
                    Sha1::digest(text)
                        .iter()
                        .map(|b| format!("{b:02x}"))
                        .collect::<String>()
                };
                let run = mistaken_command(bug, argv);
                Reply::Error(line.replace(&sha(&run[1]), &sha(&argv[1])))
            }
            _ => reply,
        }
    }
}

fn mistaken_command(bug: Bug, argv: &[Bytes]) -> Vec<Bytes> {
    let mut argv = argv.to_vec();
    match (bug, argv[0].to_ascii_lowercase().as_slice()) {
        (Bug::SetKeepsTtl, b"set") if argv.len() == 3 => argv.push(b"keepttl".to_vec()),
        (Bug::WatchIsIgnored, b"watch") if argv.len() > 1 => argv = vec![b"unwatch".to_vec()],
        (Bug::NxIsIgnored, b"set") => argv.retain(|word| word != b"nx"),
        (Bug::LremIgnoresDirection, b"lrem") if argv.len() == 4 => {
            if let Some(positive) = argv[2].strip_prefix(b"-") {
                argv[2] = positive.to_vec();
            }
        }
        (Bug::ScriptsSeeNil, b"eval") => {
            let script = String::from_utf8_lossy(&argv[1]);
            let lines = script.lines().map(|line| {
                if line.starts_with("r[#r+1] = redis.call(") && line.ends_with(')') {
                    format!("{line} or nil")
                } else {
                    line.to_owned()
                }
            });
            argv[1] = lines.collect::<Vec<_>>().join("\n").into_bytes();
        }
        _ => {}
    }
    argv
}
