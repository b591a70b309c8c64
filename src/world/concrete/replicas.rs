//! How far behind each replica is, told as it would have been.
//!
//! A path says when somebody found out how much a replica had: at a promotion,
//! and where a WAIT was answered. Nothing else tells one lag from another. From
//! that this works out when the replication link stood still: from just before
//! a write that the replica must lack, until just before it must have it.

use super::Run;
use crate::redis::Reply;
use crate::trace::{self, Event};
use crate::world::message::FOR_EVER;
use crate::world::node::Keyspace;

/// What stands behind a node.
#[derive(Clone, Default)]
pub(super) struct Replica {
    /// It follows the node's server.
    pub follows: bool,
    /// The node's keyspace before its last write, before its last two, ..
    pub history: Vec<Keyspace>,
    /// The step of each write since it follows.
    writes: Vec<usize>,
    /// What was found out, in order.
    found: Vec<Finding>,
    /// The steps at which its server gave it up: from there on it got nothing.
    gone: Vec<usize>,
    /// How much was written when it fell silent, if it is.
    silent_since: Option<usize>,
}

/// At a step the replica had so many of the writes: at least, at most.
#[derive(Clone, Copy)]
struct Finding {
    step: usize,
    least: usize,
    most: usize,
    /// The node knows; a promotion asks only the replica.
    known: bool,
}

/// A stretch of findings in which the replica lacked something.
struct Stretch {
    /// The writes that it had.
    had: usize,
    /// The last step that needs it to lack.
    last: usize,
    /// The step that needs it to have more, if any does, and whether that shows
    /// that its node knows.
    until: Option<(usize, bool)>,
}

/// The replication link of a node begins or ceases to stand still.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LinkChange {
    /// Before this step.
    pub step: usize,
    node: u8,
    change: Change,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    /// The replica gets all that was written, but for so many last writes; the
    /// node knows, or does not.
    CatchUp {
        lacks: u8,
        known: bool,
    },
    Lag,
}

impl LinkChange {
    pub fn fault(self) -> trace::Fault {
        let node = self.node;
        match self.change {
            Change::Lag => trace::Fault::ReplicaLags { node },
            Change::CatchUp { lacks, known } => {
                trace::Fault::ReplicaCatchesUp { node, lacks, known }
            }
        }
    }
}

impl Replica {
    /// A replica of a node that holds this, and may lag by so many writes.
    pub fn behind(keyspace: &Keyspace, lag: usize) -> Replica {
        Replica {
            follows: true,
            history: vec![keyspace.clone(); lag],
            ..Replica::default()
        }
    }

    /// A write follows at this step, which the replica may lack.
    pub fn leave_behind(&mut self, before: Keyspace, step: usize) {
        if self.history.pop().is_some() {
            self.history.insert(0, before);
        }
        self.writes.push(step);
    }

    /// At this step it has all but the last `lost` writes, and not one of these.
    pub fn promote(&mut self, step: usize, lost: usize) {
        let had = self.writes.len() - lost;
        self.find(step, had, had, false);
    }

    /// At this step it has everything, and its node knows.
    pub fn catch_up(&mut self, keyspace: &Keyspace, step: usize) {
        let written = self.writes.len();
        self.find(step, written, written, true);
        self.history.fill(keyspace.clone());
        self.silent_since = None;
    }

    /// Nobody knows from here on how far it comes.
    pub fn fall_silent(&mut self) {
        self.silent_since = Some(self.writes.len());
    }

    /// The writes that it is known to have.
    fn known(&self) -> usize {
        let least = self.found.iter().map(|finding| finding.least).max();
        let told = self.silent_since.unwrap_or(self.writes.len());
        let bound = told.saturating_sub(self.history.len());
        least.unwrap_or(0).max(bound)
    }

    /// At this step its server gives it up.
    pub fn give_up(&mut self, step: usize) {
        self.gone.push(step);
    }

    fn find(&mut self, step: usize, least: usize, most: usize, known: bool) {
        self.found.push(Finding {
            step,
            least,
            most,
            known,
        });
    }

    /// When the link stood still: for each stretch of findings that the replica
    /// lacked something, from just before the first write that it lacked, until
    /// the next finding that it must have more.
    pub fn link_changes(&self, node: u8) -> Vec<LinkChange> {
        let stretches = self.stretches();
        let mut changes = Vec::new();
        let mut put = |step, change| changes.push(LinkChange { step, node, change });
        let mut stands = false;
        for (at, stretch) in stretches.iter().enumerate() {
            if !stands {
                put(self.writes[stretch.had], Change::Lag);
            }
            let Some((until, known)) = stretch.until else {
                break;
            };
            let next = stretches.get(at + 1).map(|next| next.had);
            let stop = next.map_or(usize::MAX, |had| self.writes[had]);
            // What the next stretch lacks may have been written in this one.
            stands = stop <= stretch.last;
            let (step, lacks) = if stands {
                let step = stretch.last + 1;
                (step, self.written_before(step) - next.unwrap_or(0))
            } else {
                (until.min(stop).min(self.gone_after(stretch)), 0)
            };
            let lacks = lacks as u8;
            put(step, Change::CatchUp { lacks, known });
        }
        changes
    }

    fn stretches(&self) -> Vec<Stretch> {
        let mut stretches: Vec<Stretch> = Vec::new();
        for finding in &self.found {
            let open = stretches.last_mut().filter(|last| last.until.is_none());
            let ends = |stretch: &&mut Stretch| finding.least > stretch.had;
            if let Some(stretch) = open.filter(ends) {
                stretch.until = Some((finding.step, finding.known));
            }
            if finding.most >= self.written_before(finding.step) {
                continue;
            }
            match stretches.last_mut().filter(|last| last.until.is_none()) {
                Some(stretch) => {
                    stretch.had = stretch.had.min(finding.most);
                    stretch.last = finding.step;
                }
                None => stretches.push(Stretch {
                    had: finding.most,
                    last: finding.step,
                    until: None,
                }),
            }
        }
        stretches
    }

    /// The first step after the beginning of a stretch at which its server gave it
    /// up: what it has then, it has to get before.
    fn gone_after(&self, stretch: &Stretch) -> usize {
        let begins = self.writes[stretch.had];
        let mut after = self.gone.iter().filter(|step| **step > begins);
        after.next().copied().unwrap_or(usize::MAX)
    }

    fn written_before(&self, step: usize) -> usize {
        self.writes.iter().filter(|at| **at < step).count()
    }
}

impl Run<'_> {
    /// Somebody can find out what replicas have.
    pub(super) fn is_replicated(&self) -> bool {
        self.world.config.lag() > 0
    }

    /// A restart that changes nothing counts: WAIT can tell.
    pub(super) fn restart_counts(&self, node: u8) -> bool {
        self.world.tables.waits() && self.replicas[usize::from(node)].follows
    }

    /// The writes of a node that a connection's next WAIT asks for.
    fn asked(&self, index: usize) -> usize {
        let parcel = &self.parcels[index];
        let place = (parcel.client, parcel.node, parcel.thread);
        self.positions.get(&place).copied().unwrap_or(0)
    }

    fn is_acknowledged(&self, index: usize) -> bool {
        let parcel = &self.parcels[index];
        let follows = self.replicas[usize::from(parcel.node)].follows;
        let gone = self.refuses(parcel.node, false);
        !parcel.old
            && follows
            && !gone
            && self.asked(index) <= self.replicas[usize::from(parcel.node)].known()
    }

    /// A command was executed, and its connection's next WAIT asks for all up to here.
    pub(super) fn note_command(&mut self, index: usize) {
        let parcel = &self.parcels[index];
        if parcel.awaited && !parcel.old {
            let place = (parcel.client, parcel.node, parcel.thread);
            let written = self.replicas[usize::from(parcel.node)].writes.len();
            self.positions.insert(place, written);
        }
    }

    /// A thread that gave a command up has written nothing on its new connection.
    pub(super) fn open_new_connection(&mut self, client: u8, node: u8, thread: u8) {
        self.positions.insert((client, node, thread), 0);
    }

    /// All connections to the node are new, and its replica comes back.
    pub(super) fn forget_positions(&mut self, node: u8) {
        let written = self.replicas[usize::from(node)].writes.len();
        let threads = crate::world::client::THREADS as u8;
        for client in 0..self.world.config.clients {
            for thread in 0..threads {
                self.positions.insert((client, node, thread), written);
            }
        }
    }

    /// A WAIT reaches its node, and is answered or held back.
    pub(super) fn begin_wait(&mut self, index: usize, ticks: u8) {
        if self.is_acknowledged(index) {
            self.find_acknowledged(index);
            self.note_command(index);
            self.answer(index, Reply::Int(1));
            return;
        }
        self.find_lacking(index);
        let parcel = &mut self.parcels[index];
        parcel.blocked = Some(ticks);
        let (client, node, message) = (parcel.client, parcel.node, parcel.id);
        let awaited = parcel.awaited;
        self.log(
            Event::Block {
                client,
                node,
                message,
            },
            None,
        );
        if !awaited {
            self.parcels.remove(index);
        }
    }

    /// The replica gets what a WAIT asks for.
    pub(super) fn acknowledge(&mut self, index: usize) {
        let node = self.parcels[index].node;
        self.find_acknowledged(index);
        self.answer_waits(node);
    }

    fn find_acknowledged(&mut self, index: usize) {
        let asked = self.asked(index);
        let node = usize::from(self.parcels[index].node);
        let step = self.steps.len();
        let written = self.replicas[node].writes.len();
        self.replicas[node].find(step, asked, written, true);
    }

    /// Every WAIT whose answer is known now gets it.
    pub(super) fn answer_waits(&mut self, node: u8) {
        for index in 0..self.parcels.len() {
            let here = self.parcels[index].node == node && self.parcels[index].blocked.is_some();
            if here && self.is_acknowledged(index) {
                self.answer(index, Reply::Int(1));
            }
        }
    }

    /// One tick for blocked WAITs: a server gives up in time.
    pub(super) fn tick_waits(&mut self) {
        for index in 0..self.parcels.len() {
            match self.parcels[index].blocked {
                None | Some(FOR_EVER) => {}
                Some(0 | 1) => self.give_up_wait(index),
                Some(ticks) => self.parcels[index].blocked = Some(ticks - 1),
            }
        }
    }

    /// Nobody has acknowledged by now.
    fn give_up_wait(&mut self, index: usize) {
        self.find_lacking(index);
        self.answer(index, Reply::Int(0));
    }

    /// The replica, if there is one, lacks some of what a WAIT asks for, also
    /// after the step that follows. If it is silent, that says nothing.
    fn find_lacking(&mut self, index: usize) {
        let asked = self.asked(index);
        let parcel = &self.parcels[index];
        let heard = !self.silence.contains_key(&(parcel.node, false));
        let replica = &mut self.replicas[usize::from(parcel.node)];
        if heard && replica.follows && !parcel.old {
            replica.find(self.steps.len(), 0, asked.saturating_sub(1), true);
        }
    }
}
