//! Properties.

/// A property that a lock may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Property {
    Safety(Safety),
    Branching(Branching),
    Fair(Fair),
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
    ReadWrite,
    NoLostWakeUp,
    Assertion,
    NoOrphanAtOnce,
    FenceMonotonicity,
    NoFalseAlarm,
    ToldWhenLost,
}

/// A property of the whole graph: from every reachable state a way without faults
/// leads to its goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Branching {
    DeadlockFreedom,
    FaultTolerance,
}

/// A property of endless runs: none in which everybody gets their turn violates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fair {
    StarvationFreedom,
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
pub const PROPERTIES: [PropertyInfo; 19] = [
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
        "an operation reports success only if it took effect on a quorum, and is_held says what is so",
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
    safety(
        Safety::ReadWrite,
        "read-write-exclusion",
        "a valid writer excludes everybody, a valid reader every writer, and nobody ends or shortens a reader's valid hold",
    ),
    safety(
        Safety::NoLostWakeUp,
        "no-lost-wake-up",
        "nobody waits on for a message once the lock was given back and no message is on its way",
    ),
    safety(
        Safety::Assertion,
        "assertion",
        "what the lock file asserts is so whenever a client comes to it",
    ),
    branching(
        Branching::FaultTolerance,
        "fault-tolerance",
        "with a majority of nodes up and reachable some client can acquire, though nothing else is repaired",
    ),
    PropertyInfo {
        property: Property::Fair(Fair::StarvationFreedom),
        id: "starvation-freedom",
        meaning: "where every hold ends and time goes on, a client that keeps trying acquires",
    },
    safety(
        Safety::NoOrphanAtOnce,
        "no-orphan-at-once",
        "after a failed acquire or a release no key of that client is left once nothing of it is on its way",
    ),
    safety(
        Safety::FenceMonotonicity,
        "fence-monotonicity",
        "who validly gets the lock after another client has a higher fence than all before",
    ),
    safety(
        Safety::NoFalseAlarm,
        "no-false-alarm",
        "nobody is told that the lock is lost while it stands on a quorum and its lease is left on the client's clock",
    ),
    safety(
        Safety::ToldWhenLost,
        "told-when-lost",
        "who validly holds what is no more on a quorum is told so within the time that the lock promises",
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
    pub const ALL: [Safety; 16] = [
        Safety::Belief,
        Safety::Validity,
        Safety::Effect,
        Safety::OwnerOnly,
        Safety::Reentrancy,
        Safety::Lease,
        Safety::NoOrphan,
        Safety::HonestOutcome,
        Safety::ReleaseFrees,
        Safety::ReadWrite,
        Safety::NoLostWakeUp,
        Safety::Assertion,
        Safety::NoOrphanAtOnce,
        Safety::FenceMonotonicity,
        Safety::NoFalseAlarm,
        Safety::ToldWhenLost,
    ];

    /// The property's bit in a [`PropertySet`](crate::world::PropertySet).
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
    pub const ALL: [Branching; 2] = [Branching::DeadlockFreedom, Branching::FaultTolerance];

    /// The bit of the property's goal in a [`GoalSet`](crate::world::GoalSet).
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Its registry row.
    pub fn info(self) -> &'static PropertyInfo {
        Property::Branching(self).info()
    }
}

impl Fair {
    /// Its registry row.
    pub fn info(self) -> &'static PropertyInfo {
        Property::Fair(self).info()
    }
}

impl Property {
    /// Answered for only where somebody asks for it by name, or the lock file claims it: most
    /// locks violate it, and know it.
    pub fn on_demand(self) -> bool {
        match self {
            Property::Fair(Fair::StarvationFreedom) | Property::Safety(Safety::NoOrphanAtOnce) => {
                true
            }
            Property::Safety(_) | Property::Branching(_) => false,
        }
    }

    /// What a lock is asked for if nobody names properties; `fair`: its file claims that it
    /// lets nobody starve.
    pub fn usual(fair: bool) -> Vec<Property> {
        let usual = |property: &Property| {
            !property.on_demand() || fair && matches!(property, Property::Fair(_))
        };
        let all = PROPERTIES.iter().map(|info| info.property);
        all.filter(usual).collect()
    }

    /// Its verdict depends on whether a stated validity is over.
    pub fn asks_for_validity(self) -> bool {
        match self {
            Property::Safety(
                Safety::Validity
                | Safety::OwnerOnly
                | Safety::Reentrancy
                | Safety::Lease
                | Safety::ReadWrite
                | Safety::FenceMonotonicity
                | Safety::NoFalseAlarm
                | Safety::ToldWhenLost,
            ) => true,
            Property::Safety(
                Safety::Belief
                | Safety::Effect
                | Safety::NoOrphan
                | Safety::HonestOutcome
                | Safety::ReleaseFrees
                | Safety::NoLostWakeUp
                | Safety::Assertion
                | Safety::NoOrphanAtOnce,
            )
            | Property::Branching(_)
            | Property::Fair(_) => false,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_property_has_one_row_and_a_bit_of_its_own() {
        let safety = Safety::ALL.map(Property::Safety);
        let branching = Branching::ALL.map(Property::Branching);
        let fair = [Property::Fair(Fair::StarvationFreedom)];
        let all = safety.into_iter().chain(branching).chain(fair);
        assert_eq!(all.clone().count(), PROPERTIES.len());
        for (place, property) in all.enumerate() {
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
    fn what_most_locks_violate_is_asked_of_those_that_claim_it() {
        let ids = |fair| Property::usual(fair).into_iter().map(|one| one.info().id);
        let on_demand = ["starvation-freedom", "no-orphan-at-once"];
        assert!(ids(false).all(|id| !on_demand.contains(&id)));
        let more: Vec<_> = ids(true).filter(|id| on_demand.contains(id)).collect();
        assert_eq!(more, ["starvation-freedom"]);
        assert_eq!(ids(false).count() + on_demand.len(), PROPERTIES.len());
    }

    #[test]
    fn a_property_is_found_by_its_id() {
        for info in &PROPERTIES {
            assert_eq!(Property::parse(info.id), Some(info.property));
        }
    }
}
