//! Live client programs: their inputs, and what they do in answer.

use super::steps::op_name;
use super::{Cargo, ConcreteError, Parcel, Run, mismatch};
use crate::lock::{Input, Op, Output, Request, Waiting};
use crate::trace::{self, Event, Outcome};
use crate::world::client::Symbolic;
use crate::world::closure::{ending_of, retirement};
use crate::world::layout::State;

impl<'w> Run<'w> {
    pub(super) fn call(&mut self, client: u8, op: Op, before: &State) -> Result<(), ConcreteError> {
        let outermost = self.clients[usize::from(client)].program.view().holds == 0;
        let token = (op == Op::Acquire && outermost).then(|| {
            let generations = self
                .world
                .generations_in_flight(before, usize::from(client));
            let map = retirement(generations);
            let token = self.fresh_token(client);
            let state = &mut self.clients[usize::from(client)];
            for (_, generation) in &mut state.tokens {
                if let Some(new) = map.get(usize::from(*generation)) {
                    *generation = *new;
                }
            }
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
        self.feed(
            client,
            Input::Call { op, token },
            Symbolic::Call(op),
            before,
        )
    }

    /// Feeds an input to the live program; `symbolic` is what it is for the tables.
    pub(super) fn feed(
        &mut self,
        client: u8,
        input: Input,
        symbolic: Symbolic,
        before: &State,
    ) -> Result<(), ConcreteError> {
        let program = &mut self.clients[usize::from(client)].program;
        let view = program.view();
        let output = program.step(&input)?;
        self.compare_output(client, symbolic, before, &output)?;
        for (thread, waiting) in view.threads {
            if let Waiting::Reply { node, .. } | Waiting::TimedOut { node } = waiting
                && output.abandoned.contains(&thread)
            {
                self.open_new_connection(client, node, thread);
            }
        }
        self.carry_out(client, output);
        Ok(())
    }

    /// The live program did what the tables say, as far as the world does not show it.
    fn compare_output(
        &mut self,
        client: u8,
        symbolic: Symbolic,
        before: &State,
        output: &Output,
    ) -> Result<(), ConcreteError> {
        let class = self.world.class(before, usize::from(client));
        let at = self.steps.len();
        let Some((next, emitted)) = self.world.tables.step(class, symbolic) else {
            return Err(mismatch(at, symbolic, "the tables have no such input"));
        };
        self.rounded |= emitted.rounded;
        // At an open comparison the live program goes on.
        let open = self.world.tables.facts[usize::from(next)]
            .at_ticks
            .iter()
            .any(|o| *o != 0);
        if !open && ending_of(output) != emitted.ending {
            let detail = format!(
                "client {client} ends with {:?}, not {:?}",
                ending_of(output),
                emitted.ending
            );
            return Err(mismatch(at, symbolic, detail));
        }
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
            held: false,
        });
        if !self.holding && self.cut.contains_key(&(client, node)) {
            self.lose(self.parcels.len() - 1);
        }
    }

    /// A pause strikes before the last `held` requests are sent.
    pub(super) fn hold_back(&mut self, client: u8, held: u8) {
        let sent = self.parcels.iter_mut().filter(|parcel| {
            parcel.client == client && matches!(parcel.content, Cargo::Request(_))
        });
        let mut last: Vec<&mut Parcel> = sent.collect();
        last.sort_by_key(|parcel| parcel.id);
        let first = last.len() - usize::from(held).min(last.len());
        let mut ids = Vec::new();
        for parcel in last.split_off(first) {
            parcel.held = true;
            ids.push(parcel.id);
        }
        self.lose_on_cut_links(client);
        self.fault(trace::Fault::ClientPause { client, held: ids });
        self.clients[usize::from(client)].paused = Some(0);
    }

    /// What is not held back is lost where the link is cut.
    fn lose_on_cut_links(&mut self, client: u8) {
        let lost = |parcel: &Parcel| {
            let request = matches!(parcel.content, Cargo::Request(_));
            let here = parcel.client == client && request && !parcel.held;
            here && parcel.blocked.is_none() && self.cut.contains_key(&(client, parcel.node))
        };
        let ids: Vec<u32> = self
            .parcels
            .iter()
            .filter(|p| lost(p))
            .map(|p| p.id)
            .collect();
        for id in ids {
            if let Some(index) = self.parcels.iter().position(|parcel| parcel.id == id) {
                self.lose(index);
            }
        }
    }

    /// What a pause held back is sent.
    pub(super) fn let_go(&mut self, client: u8) {
        let held = |parcel: &Parcel| parcel.client == client && parcel.held;
        let cut = &self.cut;
        self.parcels
            .retain(|parcel| !held(parcel) || !cut.contains_key(&(client, parcel.node)));
        let parcels = self.parcels.iter_mut();
        parcels
            .filter(|parcel| parcel.client == client)
            .for_each(|parcel| parcel.held = false);
    }

    pub(super) fn crash(&mut self, client: u8) {
        self.clients[usize::from(client)].crashed = true;
        self.parcels.retain_mut(|parcel| {
            if parcel.client == client {
                parcel.awaited = false;
            }
            let request = matches!(parcel.content, Cargo::Request(_));
            parcel.client != client || (request && parcel.blocked.is_none() && !parcel.held)
        });
    }

    pub(super) fn advance(
        &mut self,
        drift: Option<(u8, u8)>,
        before: &State,
    ) -> Result<(), ConcreteError> {
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
                let symbolic = Symbolic::Advance(ticks);
                self.feed(client, Input::Advance { ms }, symbolic, before)?;
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
