//! Live client programs: their inputs, and what they do in answer.

use super::steps::op_name;
use super::{Cargo, ConcreteError, Parcel, Run, token_name};
use crate::lock::{Input, Op, Output, Request, Waiting};
use crate::trace::{Event, Outcome};
use crate::world::closure::retirement;
use crate::world::layout::State;

impl<'w, const W: usize> Run<'w, W> {
    pub(super) fn call(
        &mut self,
        client: u8,
        op: Op,
        before: &State<W>,
    ) -> Result<(), ConcreteError> {
        let outermost = self.clients[usize::from(client)].program.view().holds == 0;
        let token = (op == Op::Acquire && outermost).then(|| {
            let generations = self
                .world
                .generations_in_flight(before, usize::from(client));
            let map = retirement(generations);
            let state = &mut self.clients[usize::from(client)];
            for (_, generation) in &mut state.tokens {
                if let Some(new) = map.get(usize::from(*generation)) {
                    *generation = *new;
                }
            }
            state.attempt += 1;
            let token = token_name(client, state.attempt);
            state.tokens.push((token.clone(), 0));
            token
        });
        let name = op_name(op).to_owned();
        self.log(
            Event::Call {
                client,
                op: name,
                token: token.clone(),
            },
            None,
        );
        self.feed(client, Input::Call { op, token })
    }

    pub(super) fn feed(&mut self, client: u8, input: Input) -> Result<(), ConcreteError> {
        let program = &mut self.clients[usize::from(client)].program;
        let before = program.view();
        let output = program.step(&input)?;
        for (thread, waiting) in before.threads {
            if let Waiting::Reply { node, .. } | Waiting::TimedOut { node } = waiting
                && output.abandoned.contains(&thread)
            {
                self.open_new_connection(client, node, thread);
            }
        }
        self.carry_out(client, output);
        Ok(())
    }

    fn carry_out(&mut self, client: u8, output: Output) {
        for thread in &output.abandoned {
            self.parcels.retain_mut(|parcel| {
                if parcel.client == client && parcel.thread == *thread && parcel.awaited {
                    parcel.awaited = false;
                    let request = matches!(parcel.content, Cargo::Request(_));
                    return request && parcel.blocked.is_none();
                }
                true
            });
        }
        for request in output.sent {
            self.send(client, request);
        }
        self.note_waits(client);
        let source = self.source(output.line);
        if let Some((op, outcome)) = output.outcome {
            self.log(
                Event::Outcome {
                    client,
                    op: op_name(op).into(),
                    outcome,
                },
                source,
            );
        } else if output.lost {
            let op = "renewal".into();
            self.log(
                Event::Outcome {
                    client,
                    op,
                    outcome: Outcome::Lost,
                },
                source,
            );
        }
    }

    fn send(&mut self, client: u8, request: Request) {
        let id = self.next_id;
        self.next_id += 1;
        let Request {
            thread,
            node,
            argv,
            line,
        } = request;
        let family = self.family(client, &argv);
        self.clients[usize::from(client)].awaiting[usize::from(thread)] = family;
        let words = argv
            .iter()
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect();
        let source = self.source(line);
        self.log(
            Event::Send {
                client,
                thread,
                node,
                message: id,
                argv: words,
            },
            source,
        );
        let content = Cargo::Request(argv);
        self.parcels.push(Parcel {
            id,
            client,
            thread,
            node,
            awaited: true,
            old: self.uses_old(client, node),
            content,
            blocked: None,
        });
        if self.cut.contains_key(&(client, node)) {
            self.lose(self.parcels.len() - 1);
        }
    }

    /// Forgets what a thread asked for once it does not wait for it any more.
    fn note_waits(&mut self, client: u8) {
        let state = &mut self.clients[usize::from(client)];
        let view = state.program.view();
        for (thread, family) in state.awaiting.iter_mut().enumerate() {
            let waits = view.threads.iter().any(|(id, waiting)| {
                usize::from(*id) == thread
                    && matches!(waiting, Waiting::Reply { .. } | Waiting::TimedOut { .. })
            });
            if !waits {
                *family = None;
            }
        }
    }

    pub(super) fn crash(&mut self, client: u8) {
        self.clients[usize::from(client)].crashed = true;
        self.parcels.retain_mut(|parcel| {
            if parcel.client == client {
                parcel.awaited = false;
            }
            let request = matches!(parcel.content, Cargo::Request(_));
            parcel.client != client || (request && parcel.blocked.is_none())
        });
    }

    pub(super) fn advance(&mut self, drift: Option<(u8, u8)>) -> Result<(), ConcreteError> {
        self.tick += 1;
        self.log(Event::Tick, None);
        let tick_ms = self.tick_ms;
        for node in 0..self.nodes.len() {
            self.change_node(node, |keyspace| keyspace.advance_concrete(tick_ms));
        }
        for client in 0..self.world.config.clients {
            let ticks = match drift {
                Some((drifting, ticks)) if drifting == client => ticks,
                _ => 1,
            };
            let state = &mut self.clients[usize::from(client)];
            state.offset_ms += (i64::from(ticks) - 1) * self.tick_ms;
            if let Some(paused) = &mut state.paused {
                *paused += 1;
            } else if !state.crashed && ticks > 0 {
                let ms = self.tick_ms * i64::from(ticks);
                self.feed(client, Input::Advance { ms })?;
            }
        }
        // Beliefs may have lapsed with the tick: the step shows them as they are now.
        let views = self.views();
        if let Some(step) = self.steps.last_mut() {
            step.clients = views;
        }
        self.tick_waits();
        Ok(())
    }
}
