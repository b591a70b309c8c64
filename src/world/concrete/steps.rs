//! The steps of the trace that is being written.

use super::Run;
use crate::lock::{Op, Phase};
use crate::trace::{self, Event, Source, Step};
use crate::world::catalogue::Safety;
use crate::world::system::PropertySet;

impl<'w> Run<'w> {
    pub(super) fn fault(&mut self, fault: trace::Fault) {
        self.log(Event::Fault { fault }, None);
    }

    pub(super) fn log(&mut self, event: Event, source: Option<Source>) {
        let clients = self.views();
        let violates = Vec::new();
        self.steps.push(Step {
            tick: self.tick,
            event,
            source,
            clients,
            violates,
        });
    }

    /// The steps of one move show the state after it, and what it violates.
    pub(super) fn finish_move(&mut self, first: usize, violates: PropertySet) {
        let views = self.views();
        let violated = Safety::ALL
            .into_iter()
            .filter(|property| violates & property.bit() != 0);
        let ids: Vec<String> = violated
            .map(|property| property.info().id.to_owned())
            .collect();
        let count = self.steps.len();
        for step in &mut self.steps[first..] {
            // A drift is announced before the tick that it bends.
            let drift = matches!(
                step.event,
                Event::Fault {
                    fault: trace::Fault::ClientDrift { .. }
                }
            );
            if !drift {
                step.clients = views.clone();
            }
        }
        if count > first {
            self.steps[count - 1].violates = ids;
        }
    }

    /// All steps, and among them the moments from which on replicas lag.
    pub(super) fn told(mut self) -> Vec<Step> {
        for (node, replica) in self.replicas.iter().enumerate() {
            self.links.extend(replica.link_changes(node as u8));
        }
        self.links.sort_unstable();
        // From the back, so that the places in front stay what they are.
        for change in self.links.into_iter().rev() {
            let at = change.step;
            let Step { tick, clients, .. } = self.steps[at.saturating_sub(1)].clone();
            let fault = change.fault();
            let lags = Step {
                tick,
                event: Event::Fault { fault },
                source: None,
                clients,
                violates: Vec::new(),
            };
            self.steps.insert(at, lags);
        }
        self.steps
    }

    pub(super) fn source(&self, line: u32) -> Option<Source> {
        let text = self.file.line(line)?;
        Some(Source {
            line,
            text: text.trim().to_owned(),
        })
    }

    pub(super) fn views(&self) -> Vec<trace::ClientView> {
        (0..self.world.config.clients)
            .map(|client| self.view(client))
            .collect()
    }

    pub(super) fn view(&self, client: u8) -> trace::ClientView {
        let state = &self.clients[usize::from(client)];
        let view = state.program.view();
        let believes = !state.crashed && view.holds > 0;
        let paused = self.paused_ms(client);
        let left = view
            .validity_left_ms
            .filter(|_| believes)
            .map(|left| left - paused);
        let phase = match view.phase {
            _ if state.crashed => "crashed",
            _ if state.paused.is_some() => "paused",
            Phase::Idle => "idle",
            Phase::Acquiring => "acquiring",
            Phase::Held => "held",
            Phase::Releasing => "releasing",
        };
        trace::ClientView {
            phase: phase.into(),
            believes,
            valid: believes && left.is_none_or(|left| left > 0),
            validity_left_ms: left,
            holds: if believes { view.holds } else { 0 },
        }
    }
}

pub(super) fn op_name(op: Op) -> &'static str {
    match op {
        Op::Acquire => "acquire",
        Op::Release => "release",
    }
}
