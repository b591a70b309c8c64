//! Keyspaces: what commands, ticks and faults make of them.

use super::error::{intern, unbounded};
use super::{Closure, ClosureError, Command, Execution, Needs, retirement};
use crate::redis::ScriptEngine;
use crate::world::node::{Executed, Keyspace};
use crate::world::unmodelled;

impl Closure {
    pub(super) fn add_keyspace(&mut self, keyspace: &Keyspace) -> Result<u16, ClosureError> {
        let id = intern(&mut self.keyspaces, keyspace, "keyspace")?;
        if self.keyspaces.len() > self.limits.keyspaces {
            let hint = format!(": the last one holds {keyspace}");
            return Err(unbounded("keyspace", self.limits.keyspaces, hint));
        }
        Ok(id)
    }

    pub(super) fn close_keyspaces(
        &mut self,
        scripts: &mut ScriptEngine,
    ) -> Result<(), ClosureError> {
        let masks = self.masks();
        let mut id = 0;
        let mut moved = 0;
        loop {
            while id < self.commands.len() {
                self.executions.resize(self.commands.len(), Vec::new());
                self.refusals.resize(self.commands.len(), Vec::new());
                self.execute_everywhere(scripts, id)?;
                id += 1;
            }
            while moved < self.keyspaces.len() {
                self.move_keyspace(moved, &masks)?;
                moved += 1;
            }
            let done = |row: &Vec<Execution>| row.len() == self.keyspaces.len();
            if self.executions.iter().all(done) {
                break;
            }
            id = 0;
        }
        self.close_replies(&masks)
    }

    fn execute_everywhere(
        &mut self,
        scripts: &mut ScriptEngine,
        id: usize,
    ) -> Result<(), ClosureError> {
        let mut at = self.executions[id].len();
        while at < self.keyspaces.len() {
            let Command { client, argv, .. } = self.commands.get(id as u16);
            let before = self.keyspaces.get(at as u16);
            let executed = before.execute(scripts, *client, argv);
            let refused =
                (self.needs.refusing).then(|| before.execute_alone(scripts, *client, argv));
            let execution = self.add_execution(id, at, executed)?;
            self.executions[id].push(execution);
            if let Some(refused) = refused {
                let refusal = self.add_execution(id, at, refused)?;
                self.refusals[id].push(refusal);
            }
            at += 1;
        }
        Ok(())
    }

    /// What a command did to a keyspace, by numbers.
    fn add_execution(
        &mut self,
        command: usize,
        keyspace: usize,
        executed: Executed,
    ) -> Result<Execution, ClosureError> {
        let family = self.commands.get(command as u16).family;
        let line = self.family_lines[usize::from(family)];
        unmodelled::examine_reply(&executed.reply, line)?;
        let overflow = executed.overflow.is_some();
        // What overflows is not represented: the world stops there.
        let after = if overflow {
            keyspace as u16
        } else {
            self.add_keyspace(&executed.after)?
        };
        let reply = intern(&mut self.replies, &executed.reply, "set of replies")?;
        Ok(Execution {
            after,
            reply,
            effect: executed.effect,
            overflow,
        })
    }

    fn move_keyspace(&mut self, id: usize, masks: &[u8]) -> Result<(), ClosureError> {
        let keyspace = self.keyspaces.get(id as u16).clone();
        let Needs {
            tick_ms,
            horizon_ms,
            jump,
            clients,
            ..
        } = self.needs;
        self.add_keyspace(&keyspace.advance(tick_ms, horizon_ms))?;
        self.add_keyspace(&keyspace.emptied())?;
        if jump > 0 {
            for jumped in self.jumps(&keyspace) {
                self.add_keyspace(&jumped)?;
            }
        }
        for client in 0..clients {
            for mask in masks {
                self.add_keyspace(&keyspace.retire(client, &retirement(*mask)))?;
            }
        }
        Ok(())
    }

    /// The keyspace after the server's clock jumped forward and back.
    pub fn jumps(&self, keyspace: &Keyspace) -> [Keyspace; 2] {
        let ms = i64::from(self.needs.jump) * self.needs.tick_ms;
        // Above what any budget can reach, so that holding lives there loses nothing.
        let life_max = self.needs.ttl_ms + 8 * ms;
        [ms, -ms].map(|ms| keyspace.jump(ms, self.server_time, life_max))
    }
}
