//! The client's local states: every input that each of them takes.

use std::collections::BTreeMap;

use super::error::unbounded;
use super::{Closure, ClosureError, Local};
use crate::lock::{LockError, Op, Output, Phase, View, Waiting};
use crate::world::client::{Emitted, Ending, Facade, Live, Sent, Symbolic, THREADS, Wait};
use crate::world::program::ClientProgram;
use crate::world::symbols;

impl Closure {
    pub(super) fn add_root(&mut self, program: &mut dyn ClientProgram) -> Result<(), ClosureError> {
        let live = self.live(program)?;
        let key = live.key()?;
        let view = live.view();
        self.add_local(key, &view, [None; THREADS], None);
        Ok(())
    }

    fn live<'p>(&self, program: &'p mut dyn ClientProgram) -> Result<Live<'p>, LockError> {
        Live::start(program, 0, self.needs.horizon_ms, self.needs.tick_ms)
    }

    /// A program that was fed these inputs.
    fn live_at<'p>(
        &self,
        program: &'p mut dyn ClientProgram,
        path: &[Symbolic],
    ) -> Result<Live<'p>, LockError> {
        let mut live = self.live(program)?;
        for step in path {
            live.step(*step, self.local_replies.items())?;
        }
        Ok(live)
    }

    fn brings_an_old_token(&self, input: Symbolic) -> bool {
        let Symbolic::Reply { reply, .. } = input else {
            return false;
        };
        let mut found = false;
        symbols::map_reply(self.local_replies.get(reply), &mut |text| {
            found |= symbols::contains(text, symbols::OWN_STALE);
            text.to_vec()
        });
        found
    }

    /// One symbol stands for all older tokens of a client's own. A program that
    /// remembers one of them must not be able to find out whether the reply
    /// names that one: not at once, and not later from what it keeps.
    fn finds_old_tokens(
        &self,
        program: &mut dyn ClientProgram,
        path: &[Symbolic],
        input: Symbolic,
    ) -> Result<bool, LockError> {
        let remembered = self.live_at(program, path)?.old_tokens()?;
        if remembered.is_empty() {
            return Ok(false);
        }
        let replies = self.local_replies.items();
        let mut live = self.live_at(program, path)?;
        let output = live.step(input, replies)?;
        let answer = live.answer(&output)?;
        if live.keeps(symbols::OWN_STALE)? && !live.old_tokens()?.is_empty() {
            return Ok(true);
        }
        for token in remembered {
            let mut live = self.live_at(program, path)?;
            live.stale_token = Some(token);
            let output = live.step(input, replies)?;
            if live.answer(&output)? != answer {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The line that first sent what a reply answers.
    fn asking_line(&self, id: u32, input: Symbolic) -> u32 {
        let Symbolic::Reply { thread, .. } = input else {
            return 0;
        };
        let family = self.locals[id as usize].awaiting[usize::from(thread)];
        family.map_or(0, |family| self.family_lines[usize::from(family)])
    }

    fn add_local(
        &mut self,
        mut key: Vec<u8>,
        view: &View,
        awaiting: [Option<u16>; THREADS],
        parent: Option<(u32, Symbolic)>,
    ) -> u32 {
        // What a thread asked for is not on its stack any more, yet decides
        // which replies it can get.
        for family in awaiting {
            key.extend(family.map_or([0xff, 0xff], u16::to_le_bytes));
        }
        if let Some(&id) = self.local_index.get(&key) {
            return id;
        }
        let id = self.locals.len() as u32;
        self.local_index.insert(key, id);
        let facade = Facade::of(view);
        self.locals.push(Local {
            facade,
            awaiting,
            parent,
            next: BTreeMap::new(),
        });
        id
    }

    pub(super) fn close_locals(
        &mut self,
        program: &mut dyn ClientProgram,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<(), ClosureError> {
        let mut id = 0;
        while id < self.locals.len() {
            if should_stop() {
                return Err(ClosureError::Stopped);
            }
            for input in self.open_inputs(id) {
                self.run(program, id as u32, input)?;
            }
            id += 1;
        }
        Ok(())
    }

    /// The inputs of a local state that were not run yet.
    fn open_inputs(&self, id: usize) -> Vec<Symbolic> {
        let local = &self.locals[id];
        let mut inputs = self.inputs_of(&local.facade);
        for (thread, family) in local.awaiting.iter().enumerate() {
            if let Some(family) = family {
                let thread = thread as u8;
                let replies = &self.family_replies[usize::from(*family)];
                inputs.extend(
                    replies
                        .iter()
                        .map(|&reply| Symbolic::Reply { thread, reply }),
                );
            }
        }
        inputs.retain(|input| !local.next.contains_key(input));
        inputs
    }

    /// The inputs that do not depend on replies.
    fn inputs_of(&self, facade: &Facade) -> Vec<Symbolic> {
        let mut inputs = Vec::new();
        match facade.phase {
            Phase::Idle => inputs.push(Symbolic::Call(Op::Acquire)),
            Phase::Held => {
                inputs.push(Symbolic::Call(Op::Release));
                if facade.holds < self.needs.holds_max {
                    inputs.push(Symbolic::Call(Op::Acquire));
                }
            }
            Phase::Acquiring | Phase::Releasing => {}
        }
        inputs.extend((1..=self.needs.advance_max).map(Symbolic::Advance));
        for (thread, wait) in facade.threads.iter().enumerate() {
            let thread = thread as u8;
            match wait {
                Wait::Ready | Wait::TimedOut { .. } => {
                    inputs.push(Symbolic::Wake(thread));
                }
                Wait::Choice { options } => {
                    inputs.extend((1..=*options).map(|value| Symbolic::Choose { thread, value }))
                }
                _ => {}
            }
            let waits = matches!(wait, Wait::Reply { .. } | Wait::TimedOut { .. });
            if waits && self.needs.failing {
                inputs.push(Symbolic::Fail {
                    thread,
                    definite: false,
                });
            }
        }
        inputs
    }

    fn path_to(&self, id: u32) -> Vec<Symbolic> {
        let mut path = Vec::new();
        let mut at = id;
        while let Some((parent, input)) = self.locals[at as usize].parent {
            path.push(input);
            at = parent;
        }
        path.reverse();
        path
    }

    fn run(
        &mut self,
        program: &mut dyn ClientProgram,
        id: u32,
        input: Symbolic,
    ) -> Result<(), ClosureError> {
        let path = self.path_to(id);
        if self.brings_an_old_token(input) && self.finds_old_tokens(program, &path, input)? {
            let line = self.asking_line(id, input);
            return Err(ClosureError::TellsOldTokensApart { line });
        }
        let mut live = self.live_at(program, &path)?;
        let output = live.step(input, self.local_replies.items())?;
        let key = live.key()?;
        let view = live.view();
        if self.locals.len() > self.limits.locals || path.len() > self.limits.depth {
            let hint = growing_local(&live);
            return Err(unbounded("client state", self.locals.len(), hint));
        }
        if let Some((thread, _)) = view
            .threads
            .iter()
            .find(|(_, waiting)| matches!(waiting, Waiting::Message { .. }))
        {
            let what = format!("waiting for a message (thread {thread})");
            return Err(ClosureError::NotModelled {
                line: output.line,
                what,
            });
        }
        let emitted = self.emitted(&live, &output)?;
        let awaiting = self.awaiting_after(id, &view, &emitted);
        let next = self.add_local(key, &view, awaiting, Some((id, input)));
        self.locals[id as usize].next.insert(input, (emitted, next));
        Ok(())
    }

    /// The output in closed form; new commands get numbers and families.
    fn emitted(&mut self, live: &Live, output: &Output) -> Result<Emitted, ClosureError> {
        let mut emitted = Emitted {
            abandoned: output
                .abandoned
                .iter()
                .fold(0, |set, thread| set | 1 << thread),
            ending: ending_of(output),
            sent: Vec::new(),
        };
        for request in &output.sent {
            let argv = live.command(&request.argv);
            let command = self.add_local_command(argv, request.line)?;
            emitted.sent.push(Sent {
                thread: request.thread,
                node: request.node,
                command,
            });
        }
        Ok(emitted)
    }

    fn awaiting_after(&self, from: u32, view: &View, emitted: &Emitted) -> [Option<u16>; THREADS] {
        let mut awaiting = [None; THREADS];
        for (thread, waiting) in &view.threads {
            if matches!(waiting, Waiting::Reply { .. } | Waiting::TimedOut { .. }) {
                awaiting[usize::from(*thread)] =
                    self.locals[from as usize].awaiting[usize::from(*thread)];
            }
        }
        for sent in &emitted.sent {
            let slot = &mut awaiting[usize::from(sent.thread)];
            let waits = view.threads.iter().any(|(thread, waiting)| {
                *thread == sent.thread && matches!(waiting, Waiting::Reply { .. })
            });
            *slot = waits.then(|| self.family(sent.command));
        }
        awaiting
    }
}

/// How an operation ended with an output, if one did; a background thread that
/// reports the lock lost ends the hold.
pub(in crate::world) fn ending_of(output: &Output) -> Option<(Op, Ending)> {
    let ended = output.outcome.as_ref();
    ended
        .map(|(op, outcome)| (*op, Ending::of(outcome)))
        .or(output.lost.then_some((Op::Acquire, Ending::Lost)))
}

/// Names the numbers that have grown, for the user to look at.
fn growing_local(live: &Live) -> String {
    let locals: Vec<String> = live
        .locals()
        .into_iter()
        .filter(|(_, value)| value.parse::<f64>().is_ok_and(|n| n.abs() > 20.0))
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    if locals.is_empty() {
        String::new()
    } else {
        format!(": look at {}", locals.join(", "))
    }
}
