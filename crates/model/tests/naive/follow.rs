//! Follows a trace of the pipeline with live programs and formal servers.

use std::collections::BTreeMap;

use lockproof_model::lock::Op;
use lockproof_model::world::catalogue::Safety;
use lockproof_redis::ScriptEngine;
use lockproof_trace::{Event, FaultEvent, Trace, Way};

use crate::callers;
use crate::free;
use crate::moves::{Action, Move, enabled};
use crate::step::{Step, call_with, take};
use crate::world::{Cut, Setup, State};

/// What came of it.
pub struct Followed {
    pub state: State,
    /// Moves of the trace.
    pub length: usize,
    /// What the last move violates.
    pub violates: u32,
    /// The first move at which something is violated, by property.
    pub first: [Option<usize>; Safety::ALL.len()],
}

struct Follower<'s> {
    setup: &'s Setup,
    engine: ScriptEngine,
    state: State,
    /// By the trace's numbers.
    ids: BTreeMap<u32, u32>,
    length: usize,
    violates: u32,
    first: [Option<usize>; Safety::ALL.len()],
    /// Sent in the last move, and not yet named by the trace.
    fresh: Vec<u32>,
    /// The same of messages that were published.
    published: Vec<u32>,
    /// The tick that the trace tells next is the one of a drift.
    drifts: bool,
}

/// # Errors
/// What the trace says that can not happen here.
pub fn follow(setup: &Setup, trace: &Trace) -> Result<Followed, String> {
    let mut follower = Follower {
        setup,
        engine: ScriptEngine::new().map_err(|e| e.to_string())?,
        state: State::start(setup).map_err(|e| e.to_string())?,
        ids: BTreeMap::new(),
        length: 0,
        violates: 0,
        first: [None; Safety::ALL.len()],
        fresh: Vec::new(),
        published: Vec::new(),
        drifts: false,
    };
    for (at, step) in trace.steps.iter().enumerate() {
        let rest = &trace.steps[at + 1..];
        let rest: Vec<&Event> = rest.iter().map(|step| &step.event).collect();
        let taken = follower.event(&step.event, &rest);
        taken.map_err(|why| format!("step {} ({:?}): {why}", at + 1, step.event))?;
    }
    Ok(Followed {
        state: follower.state,
        length: follower.length,
        violates: follower.violates,
        first: follower.first,
    })
}

impl Follower<'_> {
    fn event(&mut self, event: &Event, rest: &[&Event]) -> Result<(), String> {
        let size = |client: &u8| usize::from(*client);
        match event {
            Event::Call { client, op, token } => {
                let op = Op::parse(op).ok_or_else(|| format!("there is no operation {op}"))?;
                self.call(size(client), op, token.clone(), held_after(rest))
            }
            Event::Wake { client, thread, .. } => {
                let (client, thread) = (size(client), *thread);
                self.act(Move::Wake { client, thread }, held_after(rest))
            }
            Event::Choose {
                client,
                thread,
                value,
            } => {
                let (client, thread, value) = (size(client), *thread, *value);
                self.act(
                    Move::Choose {
                        client,
                        thread,
                        value,
                    },
                    held_after(rest),
                )
            }
            Event::Send {
                thread,
                node,
                message,
                argv,
                client,
            } => {
                let named = |id: &u32| {
                    let at = self.state.message(*id);
                    at.is_some_and(|at| {
                        let one = &self.state.messages[at];
                        (one.client, one.thread, one.node)
                            == (size(client), *thread, usize::from(*node))
                    })
                };
                let Some(at) = self.fresh.iter().position(named) else {
                    return self.swallowed(size(client), usize::from(*node));
                };
                let id = self.fresh.remove(at);
                self.ids.insert(*message, id);
                let at = self.state.message(id).ok_or("gone")?;
                match &*self.state.messages[at].cargo {
                    crate::world::Cargo::Request(words) => {
                        let words: Vec<String> = words
                            .iter()
                            .map(|word| String::from_utf8_lossy(word).into_owned())
                            .collect();
                        (words == *argv)
                            .then_some(())
                            .ok_or(format!("sends {words:?}"))
                    }
                    // Its server is gone, and its words with it.
                    crate::world::Cargo::Refused => Ok(()),
                    other => Err(format!("is {other:?}")),
                }
            }
            Event::Execute { message, reply, .. } => {
                let id = self.id(*message)?;
                self.execute(id, reply)
            }
            Event::Deliver { ignored: true, .. } | Event::Outcome { .. } => Ok(()),
            Event::Assertion { .. } => Ok(()),
            Event::Deliver { message, .. } | Event::Fail { message, .. } => {
                let id = self.id(*message)?;
                self.act(Move::Deliver { id }, held_after(rest))
            }
            Event::Write { client, .. } => self.act(
                Move::Write {
                    client: size(client),
                },
                0,
            ),
            Event::Tick if self.drifts => {
                self.drifts = false;
                Ok(())
            }
            Event::Tick => self.act(Move::Tick, 0),
            Event::Publish {
                client,
                node,
                message,
                channel,
                payload,
            } => {
                let said = (channel.clone().into_bytes(), payload.clone().into_bytes());
                let is_it = |id: &u32| {
                    let at = self.state.message(*id);
                    at.is_some_and(|at| {
                        let one = &self.state.messages[at];
                        (one.client, one.node) == (size(client), usize::from(*node))
                            && *one.cargo == crate::world::Cargo::Published(said.clone())
                    })
                };
                match self.published.iter().position(is_it) {
                    Some(at) => {
                        let id = self.published.remove(at);
                        self.ids.insert(*message, id);
                        Ok(())
                    }
                    // On a link that is cut.
                    None => Ok(()),
                }
            }
            Event::Block { .. } | Event::HangUp { .. } => Err("what a server holds back".into()),
            Event::Fault { fault } => self.fault(fault),
        }
    }

    /// What strikes a process is told of each of its callers, and is one move.
    fn is_told_before(&self, fault: &FaultEvent) -> bool {
        let second = |client: &u8| !callers::is_first(self.setup, usize::from(*client));
        let ghost = |client: &u8| &self.state.clients[usize::from(*client)].ghost;
        match fault {
            FaultEvent::ClientCrash { client } => second(client),
            FaultEvent::ClientRestart { client } => second(client),
            FaultEvent::ClientPause { client, .. } => ghost(client).paused.is_some(),
            FaultEvent::ClientResume { client } => ghost(client).paused.is_none(),
            _ => false,
        }
    }

    fn fault(&mut self, fault: &FaultEvent) -> Result<(), String> {
        if self.is_told_before(fault) {
            return Ok(());
        }
        let size = |number: &u8| usize::from(*number);
        let step = match fault {
            FaultEvent::ClientCrash { client } => Move::Crash {
                client: size(client),
            },
            FaultEvent::ClientRestart { client } => Move::ClientRestart {
                client: size(client),
            },
            FaultEvent::ClientPause { client, held } if held.is_empty() => Move::Pause {
                client: size(client),
            },
            // Part of the move before.
            FaultEvent::ClientPause { .. } => return Ok(()),
            FaultEvent::ClientResume { client } => Move::Resume {
                client: size(client),
            },
            FaultEvent::Cancel { client } => Move::Cancel {
                client: size(client),
            },
            FaultEvent::Overrun { client } => Move::Overrun {
                client: size(client),
            },
            FaultEvent::Lose { message, .. } => match self.in_flight(*message) {
                Some(id) => Move::Lose { id },
                // On a link that is cut: no move of its own.
                None => return Ok(()),
            },
            FaultEvent::Delay { message, .. } => Move::Delay {
                id: self.id(*message)?,
            },
            FaultEvent::LinkCut { client, node, only } => Move::Cut {
                client: size(client),
                node: size(node),
                cut: match only {
                    None => Cut::Both,
                    Some(Way::Requests) => Cut::Requests,
                    Some(Way::Replies) => Cut::Replies,
                },
            },
            FaultEvent::LinkHeal { client, node } => Move::Heal {
                client: size(client),
                node: size(node),
            },
            FaultEvent::NodeRestart { node, .. } => Move::Restart { node: size(node) },
            FaultEvent::NodeFlush { node } => Move::Flush { node: size(node) },
            FaultEvent::NodeDown { node, .. } => Move::Down {
                node: size(node),
                delayed: self
                    .setup
                    .switch(lockproof_model::world::catalogue::Fault::DelayedRestart)
                    .0
                    > 0,
            },
            FaultEvent::NodeUp { node } => Move::Up { node: size(node) },
            FaultEvent::ClientSkew { client, offset_ms } => {
                let client = size(client);
                let back = *offset_ms < self.state.clients[client].ghost.offset_ms;
                Move::Skew { client, back }
            }
            FaultEvent::ClientDrift { client, ticks } => {
                self.drifts = true;
                Move::Drift {
                    client: size(client),
                    ticks: i64::from(*ticks),
                }
            }
            FaultEvent::ClockJump { node, offset_ms } => Move::Jump {
                node: size(node),
                back: *offset_ms < 0,
            },
            FaultEvent::ReplicaLags { .. } | FaultEvent::ReplicaCatchesUp { .. } => return Ok(()),
            FaultEvent::Failover { node, lost } => Move::Failover {
                node: size(node),
                lost: size(lost),
            },
            other => return Err(format!("{other:?} is not in the naive world")),
        };
        self.act(step, 0)
    }

    fn id(&self, message: u32) -> Result<u32, String> {
        let id = self.ids.get(&message).copied();
        id.ok_or_else(|| format!("message {message} was never sent"))
    }

    fn in_flight(&self, message: u32) -> Option<u32> {
        let id = self.ids.get(&message).copied();
        id.filter(|id| self.state.message(*id).is_some())
    }

    fn swallowed(&self, client: usize, node: usize) -> Result<(), String> {
        let cut = self.state.cut[client * self.setup.nodes() + node];
        cut.swallows(true)
            .then_some(())
            .ok_or_else(|| "it sends no such thing".into())
    }

    fn call(
        &mut self,
        client: usize,
        op: Op,
        token: Option<String>,
        held: usize,
    ) -> Result<(), String> {
        self.can(Move::Call { client, op })?;
        let step = call_with(self.setup, &self.state, (client, op), token, held);
        self.took(step.map_err(|stuck| stuck.0)?);
        Ok(())
    }

    fn can(&self, step: Move) -> Result<(), String> {
        let can = enabled(self.setup, &self.state).contains(&step);
        can.then_some(())
            .ok_or_else(|| format!("{step:?} can not happen here"))
    }

    fn act(&mut self, step: Move, held: usize) -> Result<(), String> {
        self.can(step)?;
        let action = Action { step, held };
        let step = take(self.setup, &mut self.engine, &self.state, action);
        self.took(step.map_err(|stuck| stuck.0)?);
        Ok(())
    }

    /// Takes the order in which the server answers so.
    fn execute(&mut self, id: u32, reply: &lockproof_redis::Reply) -> Result<(), String> {
        self.can(Move::Execute { id, order: 0 })?;
        let (mut order, mut seen) = (0, Vec::new());
        loop {
            let action = Action::from(Move::Execute { id, order });
            let step = take(self.setup, &mut self.engine, &self.state, action);
            let step = step.map_err(|stuck| stuck.0)?;
            let answer = step
                .state
                .message(id)
                .map(|at| step.state.messages[at].clone());
            let same = answer.is_none_or(|one| {
                seen.push(format!("{:?}", one.cargo));
                *one.cargo == crate::world::Cargo::Reply(reply.clone())
            });
            order += 1;
            if same {
                self.took(step);
                return Ok(());
            }
            if order >= step.orders {
                return Err(format!("it answers {seen:?}"));
            }
        }
    }

    fn took(&mut self, step: Step<'_>) {
        self.length += 1;
        self.violates = step.violates;
        if free::is_asked(&step) && free::freed(&step, &mut self.engine) == Some(false) {
            self.violates |= Safety::ReleaseFrees.bit();
        }
        for (at, property) in Safety::ALL.into_iter().enumerate() {
            if self.violates & property.bit() != 0 {
                self.first[at].get_or_insert(self.length);
            }
        }
        self.fresh = step.sent;
        self.published = step.published;
        self.state = step.state;
    }
}

/// How many requests a pause holds back that is part of a move with these events.
fn held_after(rest: &[&Event]) -> usize {
    for event in rest {
        match event {
            Event::Send { .. } | Event::Outcome { .. } | Event::Publish { .. } => {}
            Event::Assertion { .. } => {}
            Event::Fault {
                fault: FaultEvent::Lose { .. },
            } => {}
            Event::Fault {
                fault: FaultEvent::ClientPause { held, .. },
            } => return held.len(),
            _ => return 0,
        }
    }
    0
}
