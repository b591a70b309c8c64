//! The steps of the trace that is being written.

use lockproof_trace::{self as trace, Event, Source, Step};

use super::ConcreteRun;
use crate::world::catalogue::Safety;
use crate::world::layout::State;
use crate::world::system::PropertySet;

impl<'w> ConcreteRun<'w> {
    pub(super) fn fault(&mut self, fault: trace::FaultEvent) {
        self.log(Event::Fault { fault }, None);
    }

    pub(super) fn log(&mut self, event: Event, source: Option<Source>) {
        self.steps.push(Step {
            tick: self.tick,
            event,
            source,
            clients: Vec::new(),
            violates: Vec::new(),
        });
    }

    /// The last step.
    pub(super) fn here(&self) -> usize {
        self.steps.len().saturating_sub(1)
    }

    /// All clocks advance. A drift is announced before the tick that it bends, and
    /// shows the state before it.
    pub(super) fn pass_time(&mut self, drift: Option<(usize, u8)>) {
        if let Some((client, ticks)) = drift {
            let client = client as u8;
            self.fault(trace::FaultEvent::ClientDrift { client, ticks });
            let views = self.views(&self.before);
            if let Some(step) = self.steps.last_mut() {
                step.clients = views;
            }
        }
        self.tick += 1;
        self.log(Event::Tick, None);
    }

    /// The steps of one move show the state after it, and what it violates.
    pub(super) fn finish_move(&mut self, first: usize, violates: PropertySet) {
        let views = self.views(&self.after);
        for step in &mut self.steps[first..] {
            if step.clients.is_empty() {
                step.clients.clone_from(&views);
            }
        }
        if self.steps.len() > first
            && let Some(last) = self.steps.last_mut()
        {
            let violated = Safety::ALL.into_iter();
            let violated = violated.filter(|property| violates & property.bit() != 0);
            last.violates = violated
                .map(|property| property.info().id.to_owned())
                .collect();
        }
    }

    /// All steps, and among them the moments from which on replicas lag; and the numbers
    /// (from 1) of those with which rounds begin.
    pub(super) fn told(mut self) -> (Vec<Step>, Vec<u32>) {
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
            let later = self.starts.iter_mut().filter(|start| **start >= at);
            later.for_each(|start| *start += 1);
        }
        let starts = self.starts.into_iter().map(|start| start as u32 + 1);
        (self.steps, starts.collect())
    }

    pub(super) fn source(&self, line: u32) -> Option<Source> {
        let text = self.file.line(line)?;
        Some(Source {
            line,
            text: text.trim().to_owned(),
        })
    }

    fn views(&self, state: &State) -> Vec<trace::ClientView> {
        (0..self.clients.len())
            .map(|client| self.view(state, client))
            .collect()
    }

    fn view(&self, state: &State, client: usize) -> trace::ClientView {
        let view = self.clients[client].program.view();
        let crashed = self.world.crashed(state, client);
        let believes = !crashed && view.holds > 0;
        let paused = self.paused_ms(state, client);
        let left = view
            .validity_left_ms
            .filter(|_| believes)
            .map(|left| left - paused);
        let phase = match view.phase {
            _ if crashed => "crashed",
            _ if self.world.paused(state, client).is_some() => "paused",
            phase => phase.name(),
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
