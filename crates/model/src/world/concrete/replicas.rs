//! How far behind each replica is, told as it would have been.
//!
//! A path says when somebody found out how much a replica had: at a promotion,
//! and where a WAIT was answered. Nothing else tells one lag from another. From
//! that this works out when the replication link stood still: from just before
//! a write that the replica must lack, until just before it must have it.

use lockproof_trace as trace;

use super::{ConcreteRun, Parcel};
use crate::world::client::THREADS;

/// What stands behind a node.
#[derive(Clone, Default)]
pub(super) struct Replica {
    /// The step of each write since it follows.
    writes: Vec<usize>,
    /// What was found out, in order.
    found: Vec<Finding>,
    /// The steps at which its server gave it up: from there on it got nothing.
    gone: Vec<usize>,
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
    pub fn fault(self) -> trace::FaultEvent {
        let node = self.node;
        match self.change {
            Change::Lag => trace::FaultEvent::ReplicaLags { node },
            Change::CatchUp { lacks, known } => {
                trace::FaultEvent::ReplicaCatchesUp { node, lacks, known }
            }
        }
    }
}

impl Replica {
    /// A write follows at this step, which the replica may lack.
    pub fn leave_behind(&mut self, step: usize) {
        self.writes.push(step);
    }

    /// At this step it has all but the last `lost` writes, and not one of these.
    pub fn promote(&mut self, step: usize, lost: usize) {
        let had = self.writes.len() - lost;
        self.find(step, had, had, false);
    }

    /// At this step it has everything, and its node knows.
    pub fn catch_up(&mut self, step: usize) {
        let written = self.writes.len();
        self.find(step, written, written, true);
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

/// A thread's connection: client, node, thread.
pub(super) type Connection = (usize, usize, u8);

impl ConcreteRun<'_> {
    /// The writes of a node that a connection's next WAIT asks for.
    fn asked(&self, connection: Connection) -> usize {
        self.positions.get(&connection).copied().unwrap_or(0)
    }

    /// The connection's next WAIT asks for all that is written by now.
    pub(super) fn note_position(&mut self, connection: Connection) {
        let (_, node, _) = connection;
        let written = self.replicas[node].writes.len();
        self.positions.insert(connection, written);
    }

    /// All connections to the node are new, and its replica comes back.
    pub(super) fn forget_positions(&mut self, node: usize) {
        for client in 0..self.clients.len() {
            for thread in 0..THREADS as u8 {
                self.note_position((client, node, thread));
            }
        }
    }

    /// The replica takes its node's place.
    pub(super) fn promote(&mut self, node: usize, lost: usize) {
        let step = self.here();
        let mut replica = std::mem::take(&mut self.replicas[node]);
        replica.promote(step, lost);
        self.links.extend(replica.link_changes(node as u8));
    }

    /// The replica counts as gone.
    pub(super) fn lose_replica(&mut self, node: usize, old: bool) {
        let name = node as u8;
        self.fault(trace::FaultEvent::ReplicaGone { node: name, old });
        if !old {
            let step = self.here();
            self.replicas[node].give_up(step);
        }
    }

    /// From the step that follows on the replica has what a connection's WAIT asks for.
    pub(super) fn find_acknowledged(&mut self, connection: Connection) {
        let asked = self.asked(connection);
        let (_, node, _) = connection;
        let step = self.steps.len();
        let replica = &mut self.replicas[node];
        let written = replica.writes.len();
        replica.find(step, asked, written, true);
    }

    /// The replica, if there is one, lacks some of what a WAIT asks for, also
    /// after the step that follows. If it is silent, that says nothing.
    pub(super) fn find_lacking(&mut self, wait: &Parcel) {
        let node = usize::from(wait.message.node);
        let asked = self.asked((wait.client, node, wait.message.thread));
        let heard = self.world.in_touch(&self.after, node);
        let follows = self.world.has_replica(&self.after, node);
        if heard && follows && !wait.message.old {
            let step = self.steps.len();
            self.replicas[node].find(step, 0, asked.saturating_sub(1), true);
        }
    }
}
