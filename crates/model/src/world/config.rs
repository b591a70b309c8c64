//! Sizes and switches of a world.

use lockproof_trace::{Objects, owner_of};

use crate::lock::Callers;

use super::catalogue::{Fault, Switch};

/// Most clients and nodes of a world.
pub const CLIENTS_MAX: usize = 4;
/// See [`CLIENTS_MAX`].
pub const NODES_MAX: usize = 7;
/// Most messages in flight that one client can have.
pub const SLOTS: usize = 8;
/// Most writes that a replica can lag behind its primary.
pub const LAG_MAX: usize = 4;

/// How a replica takes its node's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promotion {
    /// The server is dead.
    Failover,
    /// It goes on for those who have not noticed.
    SplitBrain,
    /// It is cut off from everybody.
    CutOff,
}

impl Promotion {
    pub const ALL: [Promotion; 3] = [
        Promotion::Failover,
        Promotion::SplitBrain,
        Promotion::CutOff,
    ];

    /// The fault in which it does.
    pub fn fault(self) -> Fault {
        match self {
            Promotion::Failover => Fault::Failover,
            Promotion::SplitBrain => Fault::SplitBrain,
            Promotion::CutOff => Fault::CutOff,
        }
    }
}

/// What is watched of how a lock tells its callers that it is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Telling {
    /// Whether it says so while it holds.
    pub alarms: bool,
    /// Whether it says so in time: in so many ticks of the client's clock.
    pub within: Option<u8>,
    /// The client's clock is the monotonic one, which is never stepped.
    pub monotonic: bool,
}

/// Sizes and switches of a world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorldConfig {
    pub clients: u8,
    pub nodes: u8,
    /// The lease in ticks.
    pub ttl_ticks: u8,
    /// The lock can be acquired again by its holder.
    pub reentrant: bool,
    /// What clients A and B share, if they are two callers of one process.
    pub callers: Callers,
    /// Each client of the lock file is two here, if it has two lock objects.
    pub objects: Option<Objects>,
    /// The fault switches that are on.
    pub switches: Vec<Switch>,
    /// Faults of these that strike in this order: none before the one that
    /// stands before it has struck. The others strike at any time.
    pub order: Vec<Fault>,
    /// Everything happens at ticks: comparisons of times that depend on what happens
    /// between two go one way.
    pub at_ticks: bool,
    /// What clients leave behind is judged at once too, and not only after a lease.
    pub tidy: bool,
    /// How clients tell their callers that the lock is lost.
    pub telling: Telling,
}

impl WorldConfig {
    /// Budget and size of a fault; zero if its switch is off.
    pub fn switch(&self, fault: Fault) -> (u8, u8) {
        self.switches
            .iter()
            .find(|switch| switch.fault == fault)
            .map_or((0, 0), |switch| (switch.budget, switch.size))
    }

    /// Messages in flight that one client can have. While a server stands
    /// still, a client that tries again and again leaves a request behind each
    /// time; otherwise few are ever in flight at once.
    pub fn slots(&self) -> usize {
        let (pauses, _) = self.switch(Fault::NodePause);
        if pauses > 0 { SLOTS } else { 3 }
    }

    /// Writes that a replica may lag behind; 0 if no node has a replica. A silent
    /// one lags, whether it is ever promoted or not: WAIT can tell.
    pub fn lag(&self) -> usize {
        let lags = Promotion::ALL.map(|promotion| self.switch(promotion.fault()).1);
        usize::from(
            lags.into_iter()
                .fold(self.asks_for_replicas().into(), u8::max),
        )
    }

    /// An old server that never died can follow the new one, and take its place.
    pub(super) fn survives(&self) -> bool {
        let budget = |promotion: Promotion| self.switch(promotion.fault()).0;
        let alive = budget(Promotion::SplitBrain) + budget(Promotion::CutOff);
        alive > 0 && alive + budget(Promotion::Failover) > 1
    }

    /// A counter of fences can fall back, or there are several.
    pub fn loses_fences(&self) -> bool {
        let losing = [
            Fault::RestartNone,
            Fault::RestartEverysec,
            Fault::NodeDown,
            Fault::DelayedRestart,
            Fault::NodeFlush,
        ];
        let strikes = losing.into_iter().any(|fault| self.switch(fault).0 > 0);
        self.nodes > 1 || self.lag() > 0 || strikes
    }

    /// A promotion can leave the old server in service.
    pub fn splits(&self) -> bool {
        self.switch(Fault::SplitBrain).0 > 0
    }

    /// Servers ask for a replica to write (`min-replicas-to-write 1`).
    pub fn asks_for_replicas(&self) -> bool {
        self.switch(Fault::MinReplicas).0 > 0
    }

    /// Clients A and B are two workers of one process, with one owner id.
    pub fn shares_owner(&self) -> bool {
        self.switch(Fault::SharedOwner).0 > 0 || self.callers.owner
    }

    /// The client whose owner id a client uses.
    pub fn owner_of(&self, client: usize) -> u8 {
        match self.objects {
            Some(objects) => objects.owner(client as u8),
            None => owner_of(client as u8, self.shares_owner()),
        }
    }

    /// Who shares a process with a client: the other caller, or the other part.
    pub fn partner(&self, client: usize) -> Option<usize> {
        match self.objects {
            Some(objects) => Some(usize::from(objects.partner(client as u8))),
            None => self.callers.partner(client),
        }
    }

    /// Two clients are after one key.
    pub fn contend(&self, one: usize, other: usize) -> bool {
        self.objects
            .is_none_or(|objects| objects.contend(one as u8, other as u8))
    }

    /// The value of `silent` at which a replica counts as gone.
    pub(super) fn gone(&self) -> usize {
        let (budget, ticks) = self.switch(Fault::MinReplicas);
        if budget > 0 {
            2 + usize::from(ticks)
        } else {
            0
        }
    }

    /// Most of the nodes.
    pub fn quorum(&self) -> u8 {
        self.nodes / 2 + 1
    }
}
