//! Live client programs: their inputs, and what they do in answer.

use std::collections::VecDeque;

use lockproof_trace::{self as trace, Event, Outcome};

use super::messages::as_reply;
use super::{Cargo, ConcreteError, ConcreteRun, Parcel, mismatch};
use crate::lock::{Broken, Exchange, Input, Op, Output, Program, Request, Stated};
use crate::world::client::{Ending, Symbolic, Wait};
use crate::world::closure::ending_of;
use crate::world::log::Fate;
use crate::world::log::Retired;
use crate::world::message::{Content, Message};
use crate::world::symbols;
use crate::world::symbols::{named, retirement};

/// A live client.
pub(super) struct Client {
    pub program: Program,
    /// Its stable identity.
    pub owner: String,
    /// Attempts so far.
    pub attempt: u32,
    /// Every token it had, with the generation that the tables give it.
    pub tokens: Vec<(String, u8)>,
    /// The token of the operation that begins.
    token: Option<String>,
    done: Done,
}

/// What a live program has done that the path has not told yet. At an open comparison
/// the live program goes on, and the path tells the rest with its next move.
#[derive(Default)]
struct Done {
    sent: VecDeque<Request>,
    /// Threads (bit set) that gave a command up: those of the program, and those of
    /// which the path told.
    abandoned: [u8; 2],
    outcome: Option<(Op, Outcome)>,
    lost: bool,
    /// Assertions that do not hold, of which the path has not told.
    broken: VecDeque<Broken>,
    line: u32,
}

impl Client {
    pub fn new(program: Program, owner: String) -> Client {
        Client {
            program,
            owner,
            attempt: 0,
            tokens: Vec::new(),
            token: None,
            done: Done::default(),
        }
    }

    fn step(&mut self, input: &Input) -> Result<(), ConcreteError> {
        let Output {
            sent,
            abandoned,
            outcome,
            lost,
            broken,
            line,
            ..
        } = self.program.step(input)?;
        let done = &mut self.done;
        done.sent.extend(sent);
        for thread in abandoned {
            done.abandoned[0] |= 1 << thread;
        }
        done.outcome = outcome.or(done.outcome.take());
        done.lost |= lost;
        done.broken.extend(broken);
        done.line = line;
        Ok(())
    }
}

impl ConcreteRun<'_> {
    /// A client's process is another one, with the same owner and on the same clock.
    pub(super) fn restart(&mut self, client: usize) -> Result<(), ConcreteError> {
        let skew = i64::from(self.world.skew_ticks(&self.after, client as u8));
        let clock_ms = self.now() + skew * self.tick_ms;
        let config = super::config_of(self.world, self.config, client as u8);
        let state = &mut self.clients[client];
        state.program = Program::start(self.file, &config, &state.owner, clock_ms)?;
        state.program.set_caller(client as u8);
        state.done = Done::default();
        Ok(())
    }

    /// An operation begins. A new attempt gets a fresh token, and older ones are renamed.
    pub(super) fn begin(&mut self, client: usize, op: Op, retired: Option<Retired>) {
        let token = retired.map(|retired| {
            let map = retirement(retired.named, retired.kept);
            let token = self.fresh_token(client);
            let state = &mut self.clients[client];
            for (_, generation) in &mut state.tokens {
                if let Some(place) = named(*generation) {
                    *generation = map[place];
                }
            }
            state.tokens.push((token.clone(), 0));
            token
        });
        self.clients[client].token.clone_from(&token);
        let call = Event::Call {
            client: client as u8,
            op: op.name().to_owned(),
            token,
        };
        self.log(call, None);
    }

    /// The live program gets what its automaton got.
    pub(super) fn feed(
        &mut self,
        client: usize,
        class: u16,
        input: Symbolic,
    ) -> Result<(), ConcreteError> {
        if let Symbolic::Choose { thread, value } = input
            && self.went_on(client, thread, value)?
        {
            return Ok(());
        }
        let input = self.input(client, class, input)?;
        self.clients[client].step(&input)
    }

    /// An input with its real content; events on the way are told.
    fn input(
        &mut self,
        client: usize,
        class: u16,
        input: Symbolic,
    ) -> Result<Input, ConcreteError> {
        let Some((_, emitted)) = self.world.tables.step(class, input) else {
            return Err(mismatch(self.at, input, "the tables have no such input"));
        };
        self.rounded |= emitted.rounded;
        let name = client as u8;
        Ok(match input {
            Symbolic::Call(op) => Input::Call {
                op,
                token: self.clients[client].token.take(),
            },
            Symbolic::Advance(ticks) => Input::Advance {
                ms: self.tick_ms * i64::from(ticks),
            },
            Symbolic::Skew(ticks) => Input::Skew {
                ms: self.tick_ms * i64::from(ticks),
            },
            Symbolic::Wake(thread) => {
                let facts = self.world.tables.facts[usize::from(class)];
                let wake = Event::Wake {
                    client: name,
                    thread,
                    timed_out: facts.timed_out & 1 << thread != 0,
                };
                self.log(wake, None);
                Input::Wake { thread }
            }
            Symbolic::Choose { thread, value } => {
                let choose = Event::Choose {
                    client: name,
                    thread,
                    value,
                };
                self.log(choose, None);
                Input::Choose { thread, value }
            }
            Symbolic::Reply { thread, .. } => self.delivered(thread)?,
            Symbolic::Message(_) => self.heard()?,
            Symbolic::Exchange(number) => self.exchanged(client, number)?,
            Symbolic::Cancel => Input::Cancel,
            Symbolic::Renumber(_) => {
                return Err(mismatch(self.at, input, "no program gets it"));
            }
            Symbolic::Fail { thread, definite } => {
                let Parcel { id, message, .. } = self.taken()?;
                let fail = Event::Fail {
                    client: name,
                    node: message.node,
                    message: id,
                    definite,
                };
                self.log(fail, None);
                Input::Fail {
                    thread,
                    definite,
                    message: trace::CONNECTION_FAILED.into(),
                }
            }
        })
    }

    /// What the other caller's live program has in the handle that both share. (It may have
    /// gone on already where the path has a comparison that is open.)
    fn exchanged(&self, client: usize, number: u16) -> Result<Input, ConcreteError> {
        let told = self.world.tables.closure.exchanges.get(number);
        let Some(partner) = self.world.partner(client) else {
            return Err(mismatch(self.at, "exchange", "the client shares no handle"));
        };
        let fields = self.clients[partner].program.handle_fields()?;
        Ok(Input::Exchange(Exchange {
            fields,
            ..told.clone()
        }))
    }

    fn delivered(&mut self, thread: u8) -> Result<Input, ConcreteError> {
        let parcel = self.taken()?;
        let Cargo::Reply(reply) = parcel.cargo else {
            let detail = format!("message {} is no reply", parcel.id);
            return Err(mismatch(self.at, "deliver", detail));
        };
        let deliver = Event::Deliver {
            client: parcel.client as u8,
            node: parcel.message.node,
            message: parcel.id,
            reply: reply.clone(),
            ignored: false,
        };
        self.log(deliver, None);
        Ok(Input::Reply { thread, reply })
    }

    fn heard(&mut self) -> Result<Input, ConcreteError> {
        let parcel = self.taken()?;
        let Cargo::Published(published) = &parcel.cargo else {
            let detail = format!("message {} was not published", parcel.id);
            return Err(mismatch(self.at, "deliver", detail));
        };
        let deliver = Event::Deliver {
            client: parcel.client as u8,
            node: parcel.message.node,
            message: parcel.id,
            reply: as_reply(published),
            ignored: false,
        };
        let input = published.input();
        self.log(deliver, None);
        Ok(input)
    }

    /// The live program went on at a comparison that was open, if it went the way that
    /// it goes at ticks.
    fn went_on(&self, client: usize, thread: u8, value: u8) -> Result<bool, ConcreteError> {
        let facade = self.world.facade(&self.before, client as u8);
        let Wait::Open { at_ticks } = facade.threads[usize::from(thread)] else {
            return Ok(false);
        };
        if at_ticks == (value == 1) {
            return Ok(true);
        }
        let what = format!(
            "a comparison of times by client {} to come out as it does",
            symbols::letter(client as u8)
        );
        Err(ConcreteError::BetweenTicks { what })
    }

    pub(super) fn send(
        &mut self,
        client: usize,
        message: Message,
        fate: Fate,
    ) -> Result<(), ConcreteError> {
        let sent = self.clients[client].done.sent.pop_front();
        let request =
            sent.filter(|sent| (sent.thread, sent.node) == (message.thread, message.node));
        let Some(Request {
            argv, line, thread, ..
        }) = request
        else {
            let detail = format!("client {client} does not send {message:?}");
            return Err(mismatch(self.at, "send", detail));
        };
        let id = self.next_id;
        self.next_id += 1;
        let words = argv.iter().map(|word| String::from_utf8_lossy(word));
        let send = Event::Send {
            client: client as u8,
            thread,
            node: message.node,
            message: id,
            argv: words.map(|word| word.into_owned()).collect(),
        };
        let source = self.source(line);
        self.log(send, source);
        if fate == Fate::Lost {
            self.fault(trace::FaultEvent::Lose {
                client: client as u8,
                node: message.node,
                message: id,
                reply: false,
            });
            return Ok(());
        }
        let held = fate == Fate::Held;
        let (content, cargo) = match fate {
            Fate::Refused | Fate::Withheld => (Content::Refused, Cargo::Refused),
            Fate::Posted | Fate::Lost | Fate::Held => (message.content, Cargo::Request(argv)),
        };
        self.parcels.push(Parcel {
            id,
            client,
            message: Message {
                held,
                content,
                ..message
            },
            cargo,
            like: Vec::new(),
        });
        Ok(())
    }

    /// The assertions that do not hold, as many as the path tells of.
    fn tell_assertions(&mut self, client: usize, count: u8) -> Result<(), ConcreteError> {
        for _ in 0..count {
            let broken = self.clients[client].done.broken.pop_front();
            let Some(Broken { line, text }) = broken else {
                let detail = format!("what client {client} asserts is so");
                return Err(mismatch(self.at, "assertion", detail));
            };
            let source = self.source(line);
            let event = Event::Assertion {
                client: client as u8,
                text,
            };
            self.log(event, source);
        }
        Ok(())
    }

    /// The live program did what the path told, no more and no less.
    pub(super) fn settle(
        &mut self,
        client: usize,
        class: u16,
        (ending, fence): (Option<(Op, Ending)>, Option<Stated>),
        (abandoned, broken): (u8, u8),
    ) -> Result<(), ConcreteError> {
        self.clients[client].done.abandoned[1] |= abandoned;
        self.tell_assertions(client, broken)?;
        let facts = self.world.tables.facts[usize::from(class)];
        if facts.at_ticks.iter().any(|option| *option != 0) {
            return Ok(());
        }
        let done = std::mem::take(&mut self.clients[client].done);
        let ended = ending_of(done.outcome.as_ref(), done.lost);
        if ended != ending {
            let detail = format!("client {client} ends with {ended:?}, not {ending:?}");
            return Err(mismatch(self.at, "ending", detail));
        }
        if let Some((_, Outcome::Held { fence: is, .. })) = &done.outcome {
            self.compare_fence(client, *is, fence)?;
        }
        let [gave_up, told] = done.abandoned;
        if !done.broken.is_empty() {
            let broken = done.broken;
            let detail = format!("client {client} asserts more that is not so: {broken:?}");
            return Err(mismatch(self.at, "assertion", detail));
        }
        if !done.sent.is_empty() || gave_up != told {
            let sent = done.sent.len();
            let detail = format!(
                "client {client} sends {sent} commands more, and threads {gave_up:b} give theirs up, not {told:b}"
            );
            return Err(mismatch(self.at, "input", detail));
        }
        let outcome = match done.outcome {
            Some((op, outcome)) => Some((op.name(), outcome)),
            None => done.lost.then_some(("renewal", Outcome::Lost)),
        };
        if let Some((op, outcome)) = outcome {
            let source = self.source(done.line);
            let event = Event::Outcome {
                client: client as u8,
                op: op.into(),
                outcome,
            };
            self.log(event, source);
        }
        Ok(())
    }
}
