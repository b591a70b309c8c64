//! Hand-written traces, for tests of the gate.

use lockproof_lab::binaries::{find_default, server_directories};
use lockproof_lab::clock::Library;
use lockproof_model::lock::LockFile;
use lockproof_redis::Reply;
use lockproof_replay::{GateOptions, GatePool, ReplayReport, ReplayVerdict};
use lockproof_trace::{
    ClientView, EPOCH_MS, Event, FaultEvent, LockRef, Outcome, SCHEMA, Setup, Step, Trace, validate,
};

/// Gates with this package's own worker and the machine's own redis-server.
pub fn options() -> GateOptions {
    let server = find_default(&server_directories()).unwrap();
    let library = Library::built_in().unwrap();
    GateOptions::new(env!("CARGO_BIN_EXE_lockproof").into(), server, library)
}

/// Fails with the verdict and the history if the replay is not `reproduced`.
pub fn assert_reproduced(report: &ReplayReport) {
    if report.verdict != ReplayVerdict::Reproduced {
        let mut history = Vec::new();
        report.write_history(&mut history).unwrap();
        panic!("{}\n{}", report.verdict, String::from_utf8_lossy(&history));
    }
}

/// How often a trace has to come true.
pub const RUNS: usize = 20;

/// The trace came true to its end, and its end is the violation.
pub fn is_seen(report: &ReplayReport) -> bool {
    let confirmation = report.confirmation.as_ref();
    report.verdict.is_reproduced()
        && confirmation.is_some_and(|confirmation| confirmation.seen == Some(true))
}

/// All of the runs show the violation.
pub async fn reproduces(trace: &Trace, lock: &str) {
    validate(trace).unwrap();
    let mut pool = GatePool::new(options());
    for _ in 0..RUNS {
        let report = pool.replay(trace, lock).await;
        assert_reproduced(&report);
        assert!(is_seen(&report));
    }
}

/// The step and both sides of a divergence.
pub fn divergence(report: &ReplayReport) -> (usize, &str, &str) {
    match &report.verdict {
        ReplayVerdict::Diverged {
            step,
            expected,
            actual,
        } => (*step, expected, actual),
        other => panic!("not diverged: {other}"),
    }
}

/// A message that was sent: its client, node and number.
#[derive(Clone, Copy)]
pub struct Sent(u8, u8, u32);

/// Writes a trace step by step.
pub struct Script {
    pub trace: Trace,
    pub file: LockFile,
    tick: u32,
    messages: u32,
    views: Vec<ClientView>,
}

impl Script {
    /// A run of a built-in lock: ttl 3 s, tick 1 s, commands time out after 2 s.
    pub fn new(lock: &str, clients: u8, nodes: u8) -> Self {
        let file = LockFile::builtin(lock).unwrap();
        let idle = ClientView {
            phase: "idle".to_string(),
            believes: false,
            valid: false,
            validity_left_ms: None,
            holds: 0,
        };
        Self {
            trace: Trace {
                schema: SCHEMA.to_string(),
                lock: LockRef {
                    name: file.name.clone(),
                    path: file.path.clone(),
                    sha256: file.sha256.clone(),
                },
                setup: Setup {
                    server: None,
                    clients,
                    nodes,
                    ttl_ms: 3000,
                    tick_ms: 1000,
                    timeout_ms: 2000,
                    key: "lock:a".to_string(),
                    params: Default::default(),
                    epoch_ms: EPOCH_MS,
                    persistence: "none".to_string(),
                    replicas: 0,
                    min_replicas: 0,
                    shared_owner: false,
                    objects: None,
                    callers: 0,
                    shared_handle: false,
                },
                assumptions: Vec::new(),
                property: None,
                seed: None,
                repeats: None,
                steps: Vec::new(),
            },
            file,
            tick: 0,
            messages: 0,
            views: vec![idle; usize::from(clients)],
        }
    }

    /// The text of one of the lock's scripts.
    pub fn script(&self, name: &str) -> String {
        self.file.scripts[name].clone()
    }

    fn push(&mut self, event: Event) -> &mut Self {
        self.trace.steps.push(Step {
            tick: self.tick,
            event,
            source: None,
            clients: self.views.clone(),
            violates: Vec::new(),
        });
        self
    }

    /// The index of the step that was written last.
    pub fn last(&self) -> usize {
        self.trace.steps.len() - 1
    }

    /// From the next step on the client is in this phase.
    pub fn phase(&mut self, client: u8, phase: &str) -> &mut Self {
        self.views[usize::from(client)].phase = phase.to_string();
        self
    }

    /// From the next step on the client holds the lock.
    pub fn held(&mut self, client: u8, validity_left_ms: Option<i64>) -> &mut Self {
        self.views[usize::from(client)] = ClientView {
            phase: "held".to_string(),
            believes: true,
            valid: validity_left_ms.is_none_or(|left| left > 0),
            validity_left_ms,
            holds: 1,
        };
        self
    }

    /// From the next step on the client holds nothing and is in this phase.
    pub fn free(&mut self, client: u8, phase: &str) -> &mut Self {
        self.views[usize::from(client)] = ClientView {
            phase: phase.to_string(),
            believes: false,
            valid: false,
            validity_left_ms: None,
            holds: 0,
        };
        self
    }

    pub fn acquire(&mut self, client: u8, token: &str) -> &mut Self {
        self.free(client, "acquiring");
        self.push(Event::Call {
            client,
            op: "acquire".to_string(),
            token: Some(token.to_string()),
        })
    }

    pub fn release(&mut self, client: u8) -> &mut Self {
        self.free(client, "releasing");
        self.push(Event::Call {
            client,
            op: "release".to_string(),
            token: None,
        })
    }

    pub fn send(&mut self, client: u8, node: u8, argv: &[&str]) -> Sent {
        self.send_from(client, 0, node, argv)
    }

    pub fn send_from(&mut self, client: u8, thread: u8, node: u8, argv: &[&str]) -> Sent {
        self.messages += 1;
        let message = self.messages;
        self.push(Event::Send {
            client,
            thread,
            node,
            message,
            argv: argv.iter().map(|word| word.to_string()).collect(),
        });
        Sent(client, node, message)
    }

    pub fn execute(&mut self, sent: Sent, reply: Reply) -> &mut Self {
        let Sent(client, node, message) = sent;
        self.push(Event::Execute {
            client,
            node,
            message,
            reply,
        })
    }

    /// Delivers a reply (what it says was compared when it was executed).
    pub fn deliver(&mut self, sent: Sent) -> &mut Self {
        self.deliver_as(sent, false)
    }

    pub fn deliver_late(&mut self, sent: Sent) -> &mut Self {
        self.deliver_as(sent, true)
    }

    fn deliver_as(&mut self, sent: Sent, ignored: bool) -> &mut Self {
        let Sent(client, node, message) = sent;
        self.push(Event::Deliver {
            client,
            node,
            message,
            reply: Reply::Nil,
            ignored,
        })
    }

    pub fn fail(&mut self, sent: Sent, definite: bool) -> &mut Self {
        let Sent(client, node, message) = sent;
        self.push(Event::Fail {
            client,
            node,
            message,
            definite,
        })
    }

    pub fn lose(&mut self, sent: Sent, reply: bool) -> &mut Self {
        let Sent(client, node, message) = sent;
        self.fault(FaultEvent::Lose {
            client,
            node,
            message,
            reply,
        })
    }

    pub fn outcome(&mut self, client: u8, op: &str, outcome: Outcome) -> &mut Self {
        let op = op.to_string();
        self.push(Event::Outcome {
            client,
            op,
            outcome,
        })
    }

    pub fn wake(&mut self, client: u8, thread: u8, timed_out: bool) -> &mut Self {
        self.push(Event::Wake {
            client,
            thread,
            timed_out,
        })
    }

    /// All clocks advance; validities that are stated run down.
    pub fn tick(&mut self) -> &mut Self {
        self.tick += 1;
        for view in &mut self.views {
            if let Some(left) = &mut view.validity_left_ms {
                *left -= self.trace.setup.tick_ms;
                view.valid = *left > 0;
            }
        }
        self.push(Event::Tick)
    }

    pub fn fault(&mut self, fault: FaultEvent) -> &mut Self {
        self.push(Event::Fault { fault })
    }

    pub fn write(&mut self, client: u8) -> &mut Self {
        self.push(Event::Write {
            client,
            refused: false,
        })
    }

    /// `SET key token NX PX ttl`, executed and delivered, and the lock is held.
    pub fn take_token_lock(&mut self, client: u8, token: &str) -> &mut Self {
        self.acquire(client, token);
        let set = self.send(client, 0, &["SET", "lock:a", token, "NX", "PX", "3000"]);
        self.execute(set, ok());
        self.held(client, Some(3000)).deliver(set);
        self.outcome(client, "acquire", held(Some(3000)))
    }

    /// `SETNX` and `EXPIRE`, executed and delivered, and the lock is held.
    pub fn take_setnx_lock(&mut self, client: u8, token: &str) -> &mut Self {
        self.acquire(client, token);
        let set = self.send(client, 0, &["SETNX", "lock:a", "1"]);
        self.execute(set, Reply::Int(1)).deliver(set);
        let expire = self.send(client, 0, &["EXPIRE", "lock:a", "3"]);
        self.execute(expire, Reply::Int(1));
        self.held(client, None).deliver(expire);
        self.outcome(client, "acquire", held(None))
    }

    /// The violated property, at the last step.
    pub fn violates(&mut self, property: &str) -> Trace {
        self.trace.property = Some(property.to_string());
        if let Some(last) = self.trace.steps.last_mut() {
            last.violates = vec![property.to_string()];
        }
        self.trace.clone()
    }
}

pub fn ok() -> Reply {
    Reply::Status("OK".to_string())
}

pub fn held(validity_ms: Option<i64>) -> Outcome {
    Outcome::Held {
        validity_ms,
        fence: None,
    }
}

pub fn done(effect: Option<bool>) -> Outcome {
    Outcome::Done { effect }
}

pub fn failed(reason: &str) -> Outcome {
    Outcome::Failed {
        reason: reason.to_string(),
    }
}

/// One client takes the lock, the other finds it taken, the first releases it.
pub fn happy_path() -> Trace {
    let mut script = Script::new("token", 2, 1);
    script.take_token_lock(0, "t-1");
    script.tick().write(0);
    script.acquire(1, "t-2");
    let busy = script.send(1, 0, &["SET", "lock:a", "t-2", "NX", "PX", "3000"]);
    script.execute(busy, Reply::Nil);
    script.free(1, "idle").deliver(busy);
    script.outcome(1, "acquire", Outcome::Busy);
    let text = script.script("release_if_owner");
    script.release(0);
    let del = script.send(0, 0, &["EVAL", &text, "1", "lock:a", "t-1"]);
    script.execute(del, Reply::Int(1));
    script.free(0, "idle").deliver(del);
    script.outcome(0, "release", done(Some(true)));
    script.trace
}

/// Document 003: a DEL that is under way for longer than the lease.
pub fn late_del() -> Trace {
    let mut script = Script::new("setnx-expire", 3, 1);
    script.take_setnx_lock(0, "t-1");
    script.release(0);
    let del = script.send(0, 0, &["DEL", "lock:a"]);
    script.fault(FaultEvent::Delay {
        client: 0,
        node: 0,
        message: 3,
        reply: false,
        ticks: 4,
    });
    script.tick().tick();
    script.free(0, "idle").wake(0, 0, true);
    script.outcome(0, "release", failed("no reply in time"));
    script.tick().tick();
    script.take_setnx_lock(1, "t-2");
    script.execute(del, Reply::Int(1)).deliver_late(del);
    script.take_setnx_lock(2, "t-3");
    script.violates("mutual-exclusion-belief")
}

/// Why a trace was not replayed.
pub fn reason(verdict: &ReplayVerdict) -> &str {
    match verdict {
        ReplayVerdict::NotReplayable { reason } => reason,
        other => panic!("not `not replayable`: {other}"),
    }
}
