//! Keyspaces: what commands, ticks and faults make of them.

use lockproof_lua::{Refusal, RefusalKind};
use lockproof_redis::{Bytes, ScriptEngine};

use super::error::{CONTENT, intern, unbounded};
use super::{Closure, ClosureError, Command, Execution};
use crate::lock::LockError;
use crate::world::client::Published;
use crate::world::elsewhere;
use crate::world::execute::{Executed, Executor};
use crate::world::node::{Keyspace, Most};
use crate::world::symbols::Renaming;
use crate::world::watches::Unwatch;

impl Closure {
    pub(super) fn add_keyspace(&mut self, keyspace: &Keyspace) -> Result<u16, ClosureError> {
        let id = intern(&mut self.keyspaces, keyspace, CONTENT)?;
        if self.keyspaces.len() > self.limits.keyspaces {
            let long = self.longest().unwrap_or_default();
            let hint = format!("; the last one holds {keyspace}{long}");
            let limit = self.limits.keyspaces;
            return Err(unbounded(CONTENT, limit, hint));
        }
        self.number_wanted();
        Ok(id)
    }

    pub(super) fn close_keyspaces(
        &mut self,
        scripts: &mut ScriptEngine,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<(), ClosureError> {
        let renamings = self.renamings();
        let mut id = 0;
        let mut moved = 0;
        loop {
            while id < self.commands.len() {
                self.executions.resize(self.commands.len(), Vec::new());
                self.refusals.resize(self.commands.len(), Vec::new());
                self.execute_everywhere(scripts, id, should_stop)?;
                id += 1;
            }
            while moved < self.keyspaces.len() {
                self.move_keyspace(moved, &renamings)?;
                moved += 1;
            }
            let done = |row: &Vec<Execution>| row.len() == self.keyspaces.len();
            if self.executions.iter().all(done) {
                break;
            }
            id = 0;
        }
        self.close_replies(&renamings)
    }

    fn execute_everywhere(
        &mut self,
        scripts: &mut ScriptEngine,
        id: usize,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<(), ClosureError> {
        let scale = self.needs.server_scale();
        let rules = self.rules.clone();
        let mut executor = Executor::canonical(scripts, &rules, scale);
        let mut at = self.executions[id].len();
        while at < self.keyspaces.len() {
            if should_stop() {
                return Err(ClosureError::Stopped);
            }
            let command: Command = self.commands.get(id as u16).clone();
            let before = self.keyspaces.get(at as u16).clone();
            let kinds = [Some(false), self.needs.refusing.then_some(true)];
            for alone in kinds.into_iter().flatten() {
                if !self.wants_execution(id, at, alone) {
                    let table = if alone {
                        &mut self.refusals
                    } else {
                        &mut self.executions
                    };
                    table[id].push(Execution::missing(at));
                    continue;
                }
                let author = command.author();
                let (main, others) =
                    executor.execute_all_ways(&before, author, &command.argv, (alone, 0));
                let main = self.add_execution(id, at, main)?;
                let table = if alone {
                    &mut self.refusals
                } else {
                    &mut self.executions
                };
                table[id].push(main);
                let ways = others
                    .into_iter()
                    .map(|way| self.add_execution(id, at, way));
                let mut ways = ways.collect::<Result<Vec<_>, _>>()?;
                ways.retain(|way| *way != main);
                if !ways.is_empty() {
                    self.ways.insert((id as u16, at as u16, alone), ways);
                }
                let ways = self.ways.get(&(id as u16, at as u16, alone));
                let mut ways = ways.into_iter().flatten();
                if main.published != 0 || ways.any(|way| way.published != 0) {
                    let clients = u32::from(self.needs.clients);
                    let heard = (1..=clients).map(|listeners| {
                        let run = (alone, listeners);
                        executor.execute_all_ways(&before, author, &command.argv, run)
                    });
                    let heard: Vec<_> = heard.collect();
                    self.add_heard((id, at, alone), main, heard)?;
                }
            }
            at += 1;
        }
        Ok(())
    }

    /// What comes of a command that publishes, by how many listen: as at ticks, and in the
    /// other ways in which its script may compare times.
    fn add_heard(
        &mut self,
        (command, keyspace, alone): (usize, usize, bool),
        main: Execution,
        heard: Vec<(Executed, Vec<Executed>)>,
    ) -> Result<(), ClosureError> {
        let at = (command as u16, keyspace as u16, alone);
        let known = self.ways.get(&at).cloned().unwrap_or_default();
        let (mut by_listeners, mut same) = (Vec::new(), true);
        let mut open = !known.is_empty();
        for (executed, others) in heard {
            let execution = self.add_execution(command, keyspace, executed)?;
            same &= execution == main;
            by_listeners.push(execution);
            let others = others
                .into_iter()
                .map(|way| self.add_execution(command, keyspace, way));
            let mut others = others.collect::<Result<Vec<_>, _>>()?;
            others.retain(|way| *way != execution);
            same &= others == known;
            open |= !others.is_empty();
        }
        if same {
            return Ok(());
        }
        if open {
            let line = self.family_lines[usize::from(self.commands.get(at.0).family)];
            return Err(ClosureError::NotModelled {
                at: self.at(line),
                what: "the lock publishes, asks how many listen, and compares times, in one script"
                    .into(),
            });
        }
        self.heard.insert(at, by_listeners);
        Ok(())
    }

    /// What was published, by number.
    fn add_publication(&mut self, published: Vec<(Bytes, Bytes)>) -> Result<u16, ClosureError> {
        let mut messages = Vec::with_capacity(published.len());
        for (channel, payload) in published {
            let message = Published { channel, payload };
            messages.push(intern(&mut self.messages, &message, "set of messages")?);
        }
        intern(&mut self.publications, &messages, "set of publications")
    }

    /// What a command did to a keyspace, by numbers.
    fn add_execution(
        &mut self,
        command: usize,
        keyspace: usize,
        executed: Executed,
    ) -> Result<Execution, ClosureError> {
        let family = usize::from(self.commands.get(command as u16).family);
        let line = self.family_lines[family];
        self.server_time |= executed.clock;
        let mut rounded = false;
        for ms in executed.lives {
            self.note_duration(ms, line);
            rounded |= ms % self.needs.tick_ms != 0;
        }
        let mut execution = Execution {
            after: keyspace as u16,
            reply: 0,
            effect: executed.effect,
            counted: executed.counted,
            drew: executed.drew,
            overflow: executed.overflow.is_some(),
            poison: 0,
            rounded,
            published: 0,
        };
        if let Some((refusal, in_script)) = executed.refusal {
            execution.poison = self.refused_execution(family, refusal, in_script)?;
            return Ok(execution);
        }
        // What overflows is not represented: the world stops there.
        if !execution.overflow {
            execution.after = self.add_keyspace(&executed.after)?;
        }
        execution.published = self.add_publication(executed.published)?;
        let mut replies = executed.replies.iter();
        if let Some(reply) = replies.next() {
            execution.reply = intern(&mut self.replies, reply, "set of replies")?;
        }
        for other in replies {
            let other = intern(&mut self.replies, other, "set of replies")?;
            self.reorder(other, execution.reply);
        }
        Ok(execution)
    }

    /// The lock file asks for what no server has.
    pub(super) fn mistaken(&self, line: u32, message: String) -> ClosureError {
        let at = self.at(line);
        ClosureError::Lock(LockError::Run { at, message })
    }

    /// The execution says nothing about a real server: the lock is refused, or the
    /// pair is poisoned.
    fn refused_execution(
        &mut self,
        family: usize,
        refusal: Refusal,
        in_script: bool,
    ) -> Result<u16, ClosureError> {
        let line = self.family_lines[family];
        let at = self.at(line);
        let script = self.family_scripts[family].clone();
        let nowhere = lockproof_redis::lacking_command(&refusal.what).and_then(elsewhere::nowhere);
        let mistaken = nowhere.is_some();
        let refusal = Refusal {
            what: nowhere.map_or(refusal.what, |why| format!("uses {why}")),
            ..refusal
        };
        let what = match (in_script, script) {
            (true, Some(name)) if refusal.line > 0 => {
                format!(
                    "the lock's script `{name}`, in its line {}, {}",
                    refusal.line, refusal.what
                )
            }
            (true, Some(name)) => format!("the lock's script `{name}` {}", refusal.what),
            _ => format!("the lock {}", refusal.what),
        };
        match refusal.kind {
            _ if mistaken => Err(self.mistaken(line, what)),
            RefusalKind::Names
            | RefusalKind::Horizon
            | RefusalKind::Rounding
            | RefusalKind::Order => Ok(self.poison(refusal.kind, format!("{at}: {what}"))),
            RefusalKind::Digits | RefusalKind::Lacks | RefusalKind::Limit => {
                Err(ClosureError::NotModelled { at, what })
            }
        }
    }

    fn move_keyspace(&mut self, id: usize, renamings: &[Renaming]) -> Result<(), ClosureError> {
        let keyspace = self.keyspaces.get(id as u16).clone();
        let aged = self.aged_keyspace(&keyspace);
        self.add_keyspace(&aged)?;
        self.add_keyspace(&keyspace.emptied())?;
        self.add_keyspace(&keyspace.flushed())?;
        self.add_keyspace(&keyspace.stored())?;
        self.add_unwatched(&keyspace)?;
        if self.needs.jump > 0 {
            for jumped in self.jumps(&keyspace) {
                self.add_keyspace(&jumped)?;
            }
        }
        for renumbering in self.needs.renumberings() {
            if self.needs.losing {
                self.add_keyspace(&keyspace.renumbered(renumbering))?;
            }
        }
        for client in 0..self.needs.clients {
            for map in renamings {
                if self.wants_retirement(id, client, map) {
                    self.add_keyspace(&keyspace.retire(client, map))?;
                }
            }
        }
        Ok(())
    }

    /// What is left of a client's watches when its connections end.
    fn add_unwatched(&mut self, keyspace: &Keyspace) -> Result<(), ClosureError> {
        if keyspace.watches.is_empty() {
            return Ok(());
        }
        for client in 0..self.needs.clients {
            for what in Unwatch::ALL {
                self.add_keyspace(&keyspace.unwatched(client, what))?;
            }
        }
        Ok(())
    }

    /// The keyspace a tick later.
    pub fn aged_keyspace(&self, keyspace: &Keyspace) -> Keyspace {
        keyspace.advance(self.needs.server_scale())
    }

    /// The keyspace after the server's clock jumped forward and back.
    pub fn jumps(&self, keyspace: &Keyspace) -> [Keyspace; 2] {
        let ticks = i32::from(self.needs.jump);
        let scale = self.needs.server_scale();
        let offset_ms = i64::from(ticks) * i64::from(self.needs.jumps) * scale.step_ms;
        let most = Most {
            life_ms: self.longest_ms + offset_ms,
            offset_ms,
        };
        [ticks, -ticks].map(|ticks| keyspace.jump(ticks, scale, self.server_time, most))
    }
}
