//! Fault switches: one table.

/// What a fault does to commands on their way, as clients and time see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// They do not last longer than without it.
    None,
    /// Their connections break, and their clients hear of it.
    Breaks,
    /// They can be on their way while ticks pass.
    HoldsUp,
    /// So they can, since their client stands still.
    Stops,
}

/// What the size of a fault counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeUnit {
    /// The fault has no size.
    None,
    /// Whole ticks.
    Ticks,
    /// Commands that changed something.
    Writes,
}

/// Name, meaning and defaults of a fault switch.
#[derive(Clone, Copy, Debug)]
pub struct FaultInfo {
    pub fault: Fault,
    /// Catalogue id, as the command line and the reports write it.
    pub id: &'static str,
    /// What the switch adds to the world.
    pub meaning: &'static str,
    /// Times it may strike unless told otherwise.
    pub budget: u8,
    /// Its size unless told otherwise: this many units plus `size_ttl` times the TTL.
    pub size: u8,
    /// See `size`.
    pub size_ttl: u8,
    pub unit: SizeUnit,
    /// What it does to commands on their way.
    pub harm: Harm,
    /// Beside these the model does not follow it.
    pub not_beside: &'static [Beside],
}

/// Beside what the model does not follow a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Commands that wait for replicas.
    Wait,
    /// Commands that wait for elements of lists.
    Pops,
    /// Clients that listen to a channel.
    Messages,
    /// Another fault.
    Fault(Fault),
}

/// A size and what it counts: so many units, plus so many times the TTL.
type Size = (u8, u8, SizeUnit);

const NO_SIZE: Size = (0, 0, SizeUnit::None);

const fn ticks(size: u8, size_ttl: u8) -> Size {
    (size, size_ttl, SizeUnit::Ticks)
}

const fn writes(size: u8) -> Size {
    (size, 0, SizeUnit::Writes)
}

/// A fault: what it does to commands on their way, its default size, beside what (in
/// brackets) the model does not follow it, and its meaning. The order is that of every
/// table.
macro_rules! faults {
    ($($fault:ident $id:literal $harm:ident, $size:expr, [$($beside:ident)*]: $meaning:literal;)*) => {
        /// A fault switch.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Fault {
            $(#[doc = $meaning] $fault,)*
        }

        /// Every fault switch, in table order.
        pub const FAULTS: [FaultInfo; [$(Fault::$fault),*].len()] = [$(FaultInfo {
            fault: Fault::$fault,
            id: $id,
            meaning: $meaning,
            budget: 1,
            size: $size.0,
            size_ttl: $size.1,
            unit: $size.2,
            harm: Harm::$harm,
            not_beside: &[$(faults!(beside $beside)),*],
        },)*];
    };
    (beside Wait) => { Beside::Wait };
    (beside Pops) => { Beside::Pops };
    (beside Messages) => { Beside::Messages };
    (beside $fault:ident) => { Beside::Fault(Fault::$fault) };
}

faults! {
    ClientCrash "client-crash" None, NO_SIZE, []:
        "a client dies and stays dead; its requests in flight still arrive";
    ClientRestart "client-restart" None, NO_SIZE, []:
        "a client dies, or has died, and starts again with the same owner id and no memory; its requests in flight still arrive";
    SharedOwner "shared-owner" None, NO_SIZE, []:
        "the first two clients are workers of one process and use one owner id";
    ClientPause "client-pause" Stops, ticks(1, 1), []:
        "a client stops for up to size ticks while clocks and servers go on";
    Cancel "cancel" None, NO_SIZE, []:
        "a caller interrupts its operation where it waits; it fails, at once or after the file's clean-up, and what it sent still arrives";
    Overrun "overrun" None, NO_SIZE, []:
        "a holder's work outlasts its lease by any time";
    Delay "delay" HoldsUp, ticks(1, 1), []:
        "a request or a reply stays in flight for up to size ticks";
    Loss "loss" None, NO_SIZE, []:
        "a request or a reply is lost; the client's command times out";
    Partition "partition" None, NO_SIZE, []:
        "the link of one client to one node swallows everything until it heals";
    PartitionOneWay "partition-one-way" None, NO_SIZE, []:
        "such a link swallows only the requests, or only the replies";
    RestartNone "node-restart-none" Breaks, NO_SIZE, [MinReplicas]:
        "a server without persistence dies and starts again, empty";
    RestartEverysec "node-restart-everysec" Breaks, NO_SIZE, [MinReplicas]:
        "a server that syncs its log once a tick loses power and starts again without its latest writes";
    RestartAlways "node-restart-always" Breaks, NO_SIZE, [MinReplicas]:
        "a server that syncs every write dies and starts again with all its data";
    NodeDown "node-down" Breaks, ticks(1, 1), [Wait MinReplicas Failover SplitBrain CutOff DelayedRestart]:
        "a server dies, is gone for up to size ticks and comes back with what its persistence kept; connections are refused meanwhile";
    DelayedRestart "node-down-delayed" Breaks, ticks(1, 1), [Wait MinReplicas Failover SplitBrain CutOff]:
        "the same, but the server comes back after size ticks and not before: longer than a lease, as Redlock asks for";
    NodeFlush "node-flush" None, NO_SIZE, [MinReplicas]:
        "all keys of a server are deleted while it goes on (FLUSHALL, or eviction of all of them)";
    NodePause "node-pause" HoldsUp, ticks(1, 1), [Wait Pops MinReplicas]:
        "a server stops for up to size ticks; requests wait and are applied afterwards";
    ClientSkew "client-skew" None, ticks(2, 0), []:
        "a client's wall clock steps by size ticks, ahead or back, at any time";
    ClientDrift "client-drift" None, ticks(1, 0), []:
        "in one tick a client's clock stands still or advances twice";
    ClockJump "clock-jump" None, ticks(0, 1), [Wait Pops]:
        "a server's clock jumps size ticks, forward or back";
    Failover "failover" Breaks, writes(1), []:
        "a server dies for good and its replica, which may lack the last size writes, takes its place";
    SplitBrain "failover-split-brain" Breaks, writes(1), [Messages]:
        "the same, but the old server goes on for clients that have not noticed, until it is taken away";
    CutOff "failover-cut-off" None, writes(1), [Messages]:
        "the same, but the old server is cut off from everybody; what was in flight is lost in silence";
    MinReplicas "min-replicas" None, ticks(2, 0), []:
        "servers have min-replicas-to-write 1; one whose replica falls silent refuses writes, at once or up to size ticks later";
}

impl Fault {
    /// Its registry row.
    pub fn info(self) -> &'static FaultInfo {
        &FAULTS[self as usize]
    }

    /// The fault switch with this catalogue id.
    pub fn parse(id: &str) -> Option<Fault> {
        FAULTS
            .iter()
            .find(|info| info.id == id)
            .map(|info| info.fault)
    }

    /// It is on when all are to be: the model follows it beside the others, and it only
    /// adds behaviours.
    pub fn joins_all(self) -> bool {
        !matches!(
            self,
            Fault::SharedOwner | Fault::MinReplicas | Fault::NodeDown | Fault::DelayedRestart
        )
    }

    /// The fault with its default budget and size, under a TTL of so many ticks.
    pub fn switch(self, ttl_ticks: u8) -> Switch {
        Switch {
            fault: self,
            budget: self.info().budget,
            size: self.default_size(ttl_ticks),
        }
    }

    /// The size that the switch has by default under a TTL of so many ticks.
    pub fn default_size(self, ttl_ticks: u8) -> u8 {
        self.size_in_parts(ttl_ticks, 1)
    }

    /// The same where each usual tick is cut into so many parts.
    pub fn size_in_parts(self, ttl_ticks: u8, parts: u8) -> u8 {
        let info = self.info();
        let size = match info.unit {
            SizeUnit::Ticks => info.size.saturating_mul(parts),
            SizeUnit::None | SizeUnit::Writes => info.size,
        };
        size.saturating_add(info.size_ttl.saturating_mul(ttl_ticks))
    }
}

/// A switch that is on, with its budget and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Switch {
    pub fault: Fault,
    /// How often it may strike, 1 to 7.
    pub budget: u8,
    /// In ticks, or in writes (see [`SizeUnit`]); 0 for faults without a size.
    pub size: u8,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_found_by_its_id() {
        for info in FAULTS {
            assert_eq!(Fault::parse(info.id), Some(info.fault));
            assert_eq!(info.fault.info().id, info.id);
        }
    }

    #[test]
    fn what_is_not_followed_together_does_not_join_all() {
        for info in FAULTS.iter().filter(|info| info.fault.joins_all()) {
            for beside in info.not_beside {
                let joins = |other: &Fault| other.joins_all();
                assert!(
                    !matches!(beside, Beside::Fault(other) if joins(other)),
                    "{}",
                    info.id
                );
            }
        }
    }
}
