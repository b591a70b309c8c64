//! The one registry of properties and assumptions.
//!
//! Help texts, `lockproof list`, the docs' tables, reports and the checker all
//! read these two arrays. The names and meanings are those of the project's
//! catalogue; the order here is the order of every table.

/// A property that a lock may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Property {
    Safety(Safety),
    Branching(Branching),
}

/// A property that single transitions violate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Safety {
    Belief,
    Validity,
    Effect,
    OwnerOnly,
    Reentrancy,
    Lease,
    NoOrphan,
    HonestOutcome,
    ReleaseFrees,
}

/// A property of the whole graph: from every reachable state a way without faults
/// leads to its goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Branching {
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

/// Every property, in table order.
pub const PROPERTIES: [PropertyInfo; 10] = [
    safety(
        Safety::Belief,
        "mutual-exclusion-belief",
        "never two clients between a successful acquire and their own release call",
    ),
    safety(
        Safety::Validity,
        "mutual-exclusion-validity",
        "never two such clients whose own clock is before the end of the validity they were given",
    ),
    safety(
        Safety::Effect,
        "mutual-exclusion-effect",
        "no update of the guarded counter is lost",
    ),
    safety(
        Safety::OwnerOnly,
        "owner-only-release",
        "no release, expiry change or renewal ends, shortens or prolongs another client's valid hold",
    ),
    safety(
        Safety::Reentrancy,
        "reentrancy",
        "an owner's nested acquire succeeds, and the lock is free exactly when releases equal acquires",
    ),
    safety(
        Safety::Lease,
        "lease",
        "a valid success leaves the key on a quorum with an expiry within what was asked; no renewal revives a lost lock",
    ),
    safety(
        Safety::NoOrphan,
        "no-orphan",
        "one TTL after a failed acquire or a release no key of that client is left, and no dead client's key lacks an expiry",
    ),
    safety(
        Safety::HonestOutcome,
        "honest-outcome",
        "an operation reports success only if it took effect on a quorum",
    ),
    branching(
        Branching::DeadlockFreedom,
        "deadlock-freedom",
        "from every reachable state some client can acquire again without a further fault",
    ),
    safety(
        Safety::ReleaseFrees,
        "release-frees",
        "after a release that reports success another client can acquire before the lease is over",
    ),
];

const fn safety(property: Safety, id: &'static str, meaning: &'static str) -> PropertyInfo {
    PropertyInfo {
        property: Property::Safety(property),
        id,
        meaning,
    }
}

const fn branching(property: Branching, id: &'static str, meaning: &'static str) -> PropertyInfo {
    PropertyInfo {
        property: Property::Branching(property),
        id,
        meaning,
    }
}

impl Safety {
    /// Every one, in the order of their bits.
    pub const ALL: [Safety; 9] = [
        Safety::Belief,
        Safety::Validity,
        Safety::Effect,
        Safety::OwnerOnly,
        Safety::Reentrancy,
        Safety::Lease,
        Safety::NoOrphan,
        Safety::HonestOutcome,
        Safety::ReleaseFrees,
    ];

    /// The property's bit in a [`super::PropertySet`].
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Its registry row.
    pub fn info(self) -> &'static PropertyInfo {
        Property::Safety(self).info()
    }
}

impl Branching {
    /// Every one, in the order of their bits.
    pub const ALL: [Branching; 1] = [Branching::DeadlockFreedom];

    /// The bit of the property's goal in a [`super::GoalSet`].
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Its registry row.
    pub fn info(self) -> &'static PropertyInfo {
        Property::Branching(self).info()
    }
}

impl Property {
    /// Its verdict depends on whether a stated validity is over.
    pub fn asks_for_validity(self) -> bool {
        match self {
            Property::Safety(
                Safety::Validity | Safety::OwnerOnly | Safety::Reentrancy | Safety::Lease,
            ) => true,
            Property::Safety(
                Safety::Belief
                | Safety::Effect
                | Safety::NoOrphan
                | Safety::HonestOutcome
                | Safety::ReleaseFrees,
            )
            | Property::Branching(Branching::DeadlockFreedom) => false,
        }
    }

    /// Its registry row.
    ///
    /// # Panics
    /// If the registry has none, which a test rules out.
    pub fn info(self) -> &'static PropertyInfo {
        let row = PROPERTIES.iter().find(|info| info.property == self);
        row.expect("every property has a row")
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
    ClientRestart,
    SharedOwner,
    ClientPause,
    Overrun,
    Delay,
    Loss,
    Partition,
    PartitionOneWay,
    RestartNone,
    RestartEverysec,
    RestartAlways,
    NodeDown,
    DelayedRestart,
    NodePause,
    ClientSkew,
    ClientDrift,
    ClockJump,
    Failover,
    SplitBrain,
    CutOff,
    MinReplicas,
}

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
pub const FAULTS: [FaultInfo; 22] = [
    fault(
        Fault::ClientCrash,
        "client-crash",
        "a client dies and stays dead; its requests in flight still arrive",
    ),
    fault(
        Fault::ClientRestart,
        "client-restart",
        "a client dies, or has died, and starts again with the same owner id and no memory; its requests in flight still arrive",
    ),
    fault(
        Fault::SharedOwner,
        "shared-owner",
        "the first two clients are workers of one process and use one owner id",
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
        Fault::PartitionOneWay,
        "partition-one-way",
        "such a link swallows only the requests, or only the replies",
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
            Fault::NodeDown,
            "node-down",
            "a server dies, is gone for up to size ticks and comes back with what its persistence kept; connections are refused meanwhile",
        ),
        1,
        1,
    ),
    sized(
        fault(
            Fault::DelayedRestart,
            "node-down-delayed",
            "the same, but the server comes back after size ticks and not before: longer than a lease, as Redlock asks for",
        ),
        1,
        1,
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
            "a client's wall clock steps by size ticks, ahead or back, at any time",
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

    /// It is on when all are to be: the model follows it beside the others, and it only
    /// adds behaviours.
    pub fn joins_all(self) -> bool {
        !matches!(
            self,
            Fault::SharedOwner | Fault::MinReplicas | Fault::NodeDown | Fault::DelayedRestart
        )
    }

    /// What the fault does to commands on their way.
    pub fn harm(self) -> Harm {
        match self {
            Fault::RestartNone
            | Fault::RestartEverysec
            | Fault::RestartAlways
            | Fault::NodeDown
            | Fault::DelayedRestart
            | Fault::Failover
            | Fault::SplitBrain => Harm::Breaks,
            Fault::ClientPause => Harm::Stops,
            Fault::Delay | Fault::NodePause => Harm::HoldsUp,
            Fault::ClientCrash
            | Fault::ClientRestart
            | Fault::SharedOwner
            | Fault::Overrun
            | Fault::Loss
            | Fault::Partition
            | Fault::PartitionOneWay
            | Fault::ClientSkew
            | Fault::ClientDrift
            | Fault::ClockJump
            | Fault::CutOff
            | Fault::MinReplicas => Harm::None,
        }
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
    fn every_property_has_one_row_and_a_bit_of_its_own() {
        let safety = Safety::ALL.map(Property::Safety);
        let branching = Branching::ALL.map(Property::Branching);
        assert_eq!(safety.len() + branching.len(), PROPERTIES.len());
        for (place, property) in safety.into_iter().chain(branching).enumerate() {
            assert_eq!(property.info().property, property, "{place}");
        }
        for (place, property) in Safety::ALL.into_iter().enumerate() {
            assert_eq!(property.bit(), 1 << place);
        }
        for (place, property) in Branching::ALL.into_iter().enumerate() {
            assert_eq!(property.bit(), 1 << place);
        }
    }

    #[test]
    fn registry_rows_stand_at_their_own_index() {
        for info in &PROPERTIES {
            assert_eq!(Property::parse(info.id), Some(info.property));
        }
        for (index, info) in FAULTS.iter().enumerate() {
            assert_eq!(info.fault as usize, index);
            assert_eq!(Fault::parse(info.id), Some(info.fault));
        }
    }
}
