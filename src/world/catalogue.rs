//! The one registry of properties and assumptions.
//!
//! Help texts, `lockproof list`, the docs' tables, reports and the checker all
//! read these two arrays. The names and meanings are those of the project's
//! catalogue; the order here is the order of every table.

/// A property that a lock may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Property {
    Belief,
    Validity,
    Effect,
    OwnerOnly,
    Reentrancy,
    Lease,
    NoOrphan,
    HonestOutcome,
    DeadlockFreedom,
}

/// Name and meaning of a property.
#[derive(Clone, Copy, Debug)]
pub struct PropertyInfo {
    pub property: Property,
    /// Catalogue id, as the command line and the reports write it.
    pub id: &'static str,
    /// One sentence for `list` and the docs.
    pub meaning: &'static str,
}

/// Every property, in table order. All but the last are judged on single
/// transitions; deadlock-freedom needs the whole graph.
pub const PROPERTIES: [PropertyInfo; 9] = [
    PropertyInfo {
        property: Property::Belief,
        id: "mutual-exclusion-belief",
        meaning: "never two clients between a successful acquire and their own release call",
    },
    PropertyInfo {
        property: Property::Validity,
        id: "mutual-exclusion-validity",
        meaning: "never two such clients whose own clock is before the end of the validity they were given",
    },
    PropertyInfo {
        property: Property::Effect,
        id: "mutual-exclusion-effect",
        meaning: "no update of the guarded counter is lost",
    },
    PropertyInfo {
        property: Property::OwnerOnly,
        id: "owner-only-release",
        meaning: "no release, expiry change or renewal ends, shortens or prolongs another client's valid hold",
    },
    PropertyInfo {
        property: Property::Reentrancy,
        id: "reentrancy",
        meaning: "an owner's nested acquire succeeds, and the lock is free exactly when releases equal acquires",
    },
    PropertyInfo {
        property: Property::Lease,
        id: "lease",
        meaning: "a valid success leaves the key on a quorum with an expiry within what was asked; no renewal revives a lost lock",
    },
    PropertyInfo {
        property: Property::NoOrphan,
        id: "no-orphan",
        meaning: "one TTL after a failed acquire or a release no key of that client is left, and no dead client's key lacks an expiry",
    },
    PropertyInfo {
        property: Property::HonestOutcome,
        id: "honest-outcome",
        meaning: "an operation reports success only if it took effect on a quorum",
    },
    PropertyInfo {
        property: Property::DeadlockFreedom,
        id: "deadlock-freedom",
        meaning: "from every reachable state some client can acquire again without a further fault",
    },
];

impl Property {
    /// The property's bit in a [`super::PropertySet`].
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Its registry row.
    pub fn info(self) -> &'static PropertyInfo {
        &PROPERTIES[self as usize]
    }

    /// The property with this catalogue id.
    pub fn parse(id: &str) -> Option<Property> {
        PROPERTIES
            .iter()
            .find(|info| info.id == id)
            .map(|info| info.property)
    }
}

/// A fault switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    ClientCrash,
    ClientPause,
    Overrun,
    Delay,
    Loss,
    Partition,
    RestartNone,
    RestartEverysec,
    RestartAlways,
    NodePause,
    ClientSkew,
    ClientDrift,
    ClockJump,
    Failover,
    SplitBrain,
    CutOff,
    MinReplicas,
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
}

const fn fault(fault: Fault, id: &'static str, meaning: &'static str) -> FaultInfo {
    FaultInfo {
        fault,
        id,
        meaning,
        budget: 1,
        size: 0,
        size_ttl: 0,
        unit: SizeUnit::None,
    }
}

const fn sized(info: FaultInfo, size: u8, size_ttl: u8) -> FaultInfo {
    FaultInfo {
        size,
        size_ttl,
        unit: SizeUnit::Ticks,
        ..info
    }
}

/// A promotion of a replica that may lag by a write.
const fn promotion(info: FaultInfo) -> FaultInfo {
    FaultInfo {
        size: 1,
        unit: SizeUnit::Writes,
        ..info
    }
}

/// Every fault switch, in table order.
pub const FAULTS: [FaultInfo; 17] = [
    fault(
        Fault::ClientCrash,
        "client-crash",
        "a client dies and stays dead; its requests in flight still arrive",
    ),
    sized(
        fault(
            Fault::ClientPause,
            "client-pause",
            "a client stops for up to size ticks while clocks and servers go on",
        ),
        1,
        1,
    ),
    fault(
        Fault::Overrun,
        "overrun",
        "a holder's work outlasts its lease by any time",
    ),
    sized(
        fault(
            Fault::Delay,
            "delay",
            "a request or a reply stays in flight for up to size ticks",
        ),
        1,
        1,
    ),
    fault(
        Fault::Loss,
        "loss",
        "a request or a reply is lost; the client's command times out",
    ),
    fault(
        Fault::Partition,
        "partition",
        "the link of one client to one node swallows everything until it heals",
    ),
    fault(
        Fault::RestartNone,
        "node-restart-none",
        "a server without persistence dies and starts again, empty",
    ),
    fault(
        Fault::RestartEverysec,
        "node-restart-everysec",
        "a server that syncs its log once a tick loses power and starts again without its latest writes",
    ),
    fault(
        Fault::RestartAlways,
        "node-restart-always",
        "a server that syncs every write dies and starts again with all its data",
    ),
    sized(
        fault(
            Fault::NodePause,
            "node-pause",
            "a server stops for up to size ticks; requests wait and are applied afterwards",
        ),
        1,
        1,
    ),
    sized(
        fault(
            Fault::ClientSkew,
            "client-skew",
            "an idle client's clock is set off by size ticks, ahead or behind",
        ),
        2,
        0,
    ),
    sized(
        fault(
            Fault::ClientDrift,
            "client-drift",
            "in one tick a client's clock stands still or advances twice",
        ),
        1,
        0,
    ),
    sized(
        fault(
            Fault::ClockJump,
            "clock-jump",
            "a server's clock jumps size ticks, forward or back",
        ),
        0,
        1,
    ),
    promotion(fault(
        Fault::Failover,
        "failover",
        "a server dies for good and its replica, which may lack the last size writes, takes its place",
    )),
    promotion(fault(
        Fault::SplitBrain,
        "failover-split-brain",
        "the same, but the old server goes on for clients that have not noticed, until it is taken away",
    )),
    promotion(fault(
        Fault::CutOff,
        "failover-cut-off",
        "the same, but the old server is cut off from everybody; what was in flight is lost in silence",
    )),
    sized(
        fault(
            Fault::MinReplicas,
            "min-replicas",
            "servers have min-replicas-to-write 1; one whose replica falls silent refuses writes, at once or up to size ticks later",
        ),
        2,
        0,
    ),
];

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

    /// The size that the switch has by default under a TTL of so many ticks.
    pub fn default_size(self, ttl_ticks: u8) -> u8 {
        let info = self.info();
        info.size
            .saturating_add(info.size_ttl.saturating_mul(ttl_ticks))
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
    fn registry_rows_stand_at_their_own_index() {
        for (index, info) in PROPERTIES.iter().enumerate() {
            assert_eq!(info.property as usize, index);
            assert_eq!(Property::parse(info.id), Some(info.property));
        }
        for (index, info) in FAULTS.iter().enumerate() {
            assert_eq!(info.fault as usize, index);
            assert_eq!(Fault::parse(info.id), Some(info.fault));
        }
    }
}
