//! Three protocols as state machines, written by hand: no Lua, no suspended
//! stacks, no shared code with the lock files' programs.
//!
//! They are what the built-in lock files must come to after minimisation. A
//! machine's local state is one plain struct, and its key is that struct's
//! fields, one after the other.

use lockproof_lua::text::{Name, NameKind, Symbol};
use lockproof_lua::view;
use lockproof_model::lock::{
    Config, Input, LockError, Mode, Op, Output, Phase, Request, UsedDuration, View, Waiting,
};
use lockproof_model::world::program::ClientProgram;
use lockproof_redis::Reply;
use lockproof_trace::Outcome;

/// What a protocol gets back for a command.
pub enum Answer<'a> {
    Reply(&'a Reply),
    /// A time-out or a broken connection: nobody knows.
    Nothing,
}

impl Answer<'_> {
    fn is(&self, wanted: &Reply) -> bool {
        matches!(self, Answer::Reply(reply) if *reply == wanted)
    }

    fn failed(&self) -> bool {
        matches!(self, Answer::Nothing | Answer::Reply(Reply::Error(_)))
    }
}

/// What a protocol does next.
pub enum Next {
    Send {
        node: u8,
        timeout_ms: i64,
        argv: Vec<Vec<u8>>,
    },
    End(Outcome),
}

/// What a protocol may look at.
pub struct Caller<'a> {
    pub config: &'a Config,
    pub op: Op,
    /// ms since the operation was called.
    pub age_ms: i64,
}

impl Caller<'_> {
    fn send(&self, words: &[&str]) -> Next {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        self.send_to(0, self.config.timeout_ms, &words)
    }

    fn send_to(&self, node: u8, timeout_ms: i64, words: &[&[u8]]) -> Next {
        Next::Send {
            node,
            timeout_ms,
            argv: words.iter().map(|word| word.to_vec()).collect(),
        }
    }

    fn set(&self, node: u8, timeout_ms: i64) -> Next {
        let (key, ttl) = (self.config.key.as_bytes(), self.config.ttl_ms.to_string());
        let words = [b"SET", key, &own_token(), b"NX", b"PX", ttl.as_bytes()];
        self.send_to(node, timeout_ms, &words)
    }

    fn delete_own(&self, node: u8, timeout_ms: i64) -> Next {
        let (key, script) = (self.config.key.as_bytes(), DELETE_OWN.as_bytes());
        let words = [b"EVAL", script, b"1", key, &own_token()];
        self.send_to(node, timeout_ms, &words)
    }
}

/// What stands for the client's present token in its commands.
fn own_token() -> Vec<u8> {
    let name = Name {
        kind: NameKind::Token,
        who: view::OWN,
        mark: b'0',
    };
    Symbol::Name(name).text()
}

const DELETE_OWN: &str = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end \
                          return redis.call('DEL', KEYS[1])";

fn failed() -> Next {
    let reason = "no or a bad reply".into();
    Next::End(Outcome::Failed { reason })
}

fn held(validity_ms: Option<i64>) -> Next {
    Next::End(Outcome::Held {
        validity_ms,
        fence: None,
    })
}

fn done(effect: Option<bool>) -> Next {
    Next::End(Outcome::Done { effect })
}

/// A protocol; the value is what it remembers inside an operation.
pub trait Protocol: Clone + Default + Send + Sync + 'static {
    fn call(&mut self, caller: &Caller) -> Next;
    fn answer(&mut self, caller: &Caller, answer: &Answer) -> Next;
    fn bytes(&self) -> Vec<u8>;
}

/// SET NX PX with a token, compare and delete.
#[derive(Clone, Default)]
pub struct Token;

impl Protocol for Token {
    fn call(&mut self, caller: &Caller) -> Next {
        match caller.op {
            Op::Release => caller.delete_own(0, caller.config.timeout_ms),
            _ => caller.set(0, caller.config.timeout_ms),
        }
    }

    fn answer(&mut self, caller: &Caller, answer: &Answer) -> Next {
        match caller.op {
            Op::Release => done(Some(answer.is(&Reply::Int(1)))),
            Op::Acquire if answer.failed() => failed(),
            Op::Acquire if answer.is(&Reply::Nil) => Next::End(Outcome::Busy),
            _ => held(Some(caller.config.ttl_ms - caller.age_ms)),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// SETNX, then EXPIRE; DEL.
#[derive(Clone, Default)]
pub struct SetnxExpire {
    /// SETNX said yes.
    mine: bool,
}

impl Protocol for SetnxExpire {
    fn call(&mut self, caller: &Caller) -> Next {
        match caller.op {
            Op::Release => caller.send(&["DEL", &caller.config.key]),
            _ => caller.send(&["SETNX", &caller.config.key, "1"]),
        }
    }

    fn answer(&mut self, caller: &Caller, answer: &Answer) -> Next {
        if answer.failed() {
            return failed();
        }
        match caller.op {
            Op::Release => done(None),
            Op::Acquire if self.mine => held(None),
            Op::Acquire if answer.is(&Reply::Int(0)) => Next::End(Outcome::Busy),
            _ => {
                self.mine = true;
                let seconds = (caller.config.ttl_ms / 1000).to_string();
                caller.send(&["EXPIRE", &caller.config.key, &seconds])
            }
        }
    }

    fn bytes(&self) -> Vec<u8> {
        vec![u8::from(self.mine)]
    }
}

/// A majority of servers, one after the other.
#[derive(Clone, Default)]
pub struct Redlock {
    unlocking: bool,
    /// The server whose answer it waits for.
    node: u8,
    votes: u8,
    released: u8,
}

const NODE_TIMEOUT_MS: i64 = 50;

impl Redlock {
    fn unlock(&mut self, caller: &Caller) -> Next {
        self.unlocking = true;
        self.node = 0;
        caller.delete_own(0, NODE_TIMEOUT_MS)
    }

    fn majority(&self, caller: &Caller, votes: u8) -> bool {
        votes > caller.config.nodes / 2
    }

    fn voted(&mut self, caller: &Caller) -> Next {
        let validity = caller.config.ttl_ms - caller.age_ms;
        if self.majority(caller, self.votes) && validity > 0 {
            return held(Some(validity));
        }
        self.unlock(caller)
    }

    fn unlocked(&self, caller: &Caller) -> Next {
        match caller.op {
            Op::Release => done(Some(self.majority(caller, self.released))),
            Op::Acquire if self.majority(caller, self.votes) => failed(),
            _ => Next::End(Outcome::Busy),
        }
    }
}

impl Protocol for Redlock {
    fn call(&mut self, caller: &Caller) -> Next {
        match caller.op {
            Op::Release => self.unlock(caller),
            _ => caller.set(0, NODE_TIMEOUT_MS),
        }
    }

    fn answer(&mut self, caller: &Caller, answer: &Answer) -> Next {
        if self.unlocking {
            self.released += u8::from(answer.is(&Reply::Int(1)));
        } else {
            self.votes += u8::from(answer.is(&Reply::Status("OK".into())));
        }
        self.node += 1;
        match (self.node < caller.config.nodes, self.unlocking) {
            (true, true) => caller.delete_own(self.node, NODE_TIMEOUT_MS),
            (true, false) => caller.set(self.node, NODE_TIMEOUT_MS),
            (false, true) => self.unlocked(caller),
            (false, false) => self.voted(caller),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let unlocking = u8::from(self.unlocking);
        vec![unlocking, self.node, self.votes, self.released]
    }
}

/// The whole local state of a client.
#[derive(Clone)]
struct Local<P> {
    phase: Phase,
    age_ms: i64,
    validity_ms: Option<i64>,
    waiting: Option<Waiting>,
    protocol: P,
}

/// A protocol at work as one client of a model.
#[derive(Clone)]
pub struct Machine<P> {
    config: Config,
    local: Local<P>,
}

impl<P: Protocol> Machine<P> {
    pub fn new(config: Config) -> Machine<P> {
        Machine {
            config,
            local: Machine::idle(),
        }
    }

    fn idle() -> Local<P> {
        Local {
            phase: Phase::Idle,
            age_ms: 0,
            validity_ms: None,
            waiting: None,
            protocol: P::default(),
        }
    }

    fn run(&mut self, op: Op, answer: Option<Answer>, output: &mut Output) {
        let local = &mut self.local;
        let caller = Caller {
            config: &self.config,
            op,
            age_ms: local.age_ms,
        };
        let next = match answer {
            None => local.protocol.call(&caller),
            Some(answer) => local.protocol.answer(&caller, &answer),
        };
        match next {
            Next::Send {
                node,
                timeout_ms,
                argv,
            } => {
                local.waiting = Some(Waiting::Reply { node, timeout_ms });
                output.durations.push(UsedDuration {
                    ms: timeout_ms,
                    line: 0,
                });
                output.sent.push(Request {
                    thread: 0,
                    node,
                    argv,
                    line: 0,
                });
            }
            Next::End(outcome) => {
                self.end(&outcome);
                output.outcome = Some((op, outcome));
            }
        }
    }

    fn end(&mut self, outcome: &Outcome) {
        let Outcome::Held { validity_ms, .. } = outcome else {
            self.local = Machine::idle();
            return;
        };
        self.local = Local {
            phase: Phase::Held,
            validity_ms: *validity_ms,
            ..Machine::idle()
        };
    }

    fn advance(&mut self, ms: i64) {
        let local = &mut self.local;
        // An operation that has taken longer than this has taken too long.
        let most = self.config.scale.map_or(i64::MAX, |scale| scale.horizon_ms);
        local.age_ms = (local.age_ms + ms).min(most);
        local.validity_ms = local.validity_ms.map(|left| (left - ms).max(0));
        local.waiting = local.waiting.map(|waiting| match waiting {
            Waiting::Reply { node, timeout_ms } if timeout_ms > ms => Waiting::Reply {
                node,
                timeout_ms: timeout_ms - ms,
            },
            Waiting::Reply { node, .. } => Waiting::TimedOut { node },
            other => other,
        });
    }

    /// The clock that operations and validities are measured on is set.
    fn skew(&mut self, ms: i64) {
        let most = self.config.scale.map_or(i64::MAX, |scale| scale.horizon_ms);
        let local = &mut self.local;
        local.age_ms = (local.age_ms + ms).clamp(-most, most);
        local.validity_ms = local.validity_ms.map(|left| (left - ms).max(0));
    }

    fn op(&self) -> Op {
        match self.local.phase {
            Phase::Acquiring => Op::Acquire,
            _ => Op::Release,
        }
    }
}

impl<P: Protocol> ClientProgram for Machine<P> {
    fn fork(&self) -> Box<dyn ClientProgram> {
        Box::new(self.clone())
    }

    fn step(&mut self, input: &Input) -> Result<Output, LockError> {
        let mut output = Output::default();
        match (input, self.local.phase) {
            (Input::Advance { ms }, _) => self.advance(*ms),
            (Input::Skew { ms }, _) => self.skew(*ms),
            (Input::Call { op, .. }, Phase::Idle | Phase::Held) => {
                self.local.phase = match op {
                    Op::Release => Phase::Releasing,
                    _ => Phase::Acquiring,
                };
                self.local.age_ms = 0;
                self.local.validity_ms = None;
                self.run(*op, None, &mut output);
            }
            (Input::Wake { thread: 0 }, _) => {
                output.abandoned.push(0);
                self.run(self.op(), Some(Answer::Nothing), &mut output);
            }
            (Input::Fail { thread: 0, .. }, _) => {
                self.run(self.op(), Some(Answer::Nothing), &mut output);
            }
            (Input::Reply { thread: 0, reply }, _) => {
                self.run(self.op(), Some(Answer::Reply(reply)), &mut output);
            }
            (input, phase) => panic!("{input:?} while {phase:?}"),
        }
        Ok(output)
    }

    fn view(&self) -> View {
        let local = &self.local;
        let holds = u8::from(local.phase == Phase::Held);
        let waiting = local.waiting.iter().map(|waiting| (0, *waiting));
        let valid = holds > 0 && local.validity_ms.is_none_or(|left| left > 0);
        View {
            mode: Mode::default(),
            phase: local.phase,
            holds,
            validity_left_ms: local.validity_ms,
            valid,
            valid_at_ticks: valid,
            lost: false,
            renewed: false,
            threads: waiting.collect(),
        }
    }

    fn key(&self) -> Vec<u8> {
        let local = &self.local;
        let mut key = vec![local.phase as u8];
        if local.phase == Phase::Acquiring {
            key.extend(local.age_ms.to_le_bytes());
        }
        if local.phase == Phase::Held {
            key.extend(local.validity_ms.unwrap_or(i64::MIN).to_le_bytes());
        }
        let waiting = match local.waiting {
            None => 0,
            Some(Waiting::Reply { timeout_ms, .. }) => 1 + timeout_ms,
            Some(_) => -1,
        };
        key.extend(waiting.to_le_bytes());
        key.extend(local.protocol.bytes());
        key
    }

    fn locals(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}
