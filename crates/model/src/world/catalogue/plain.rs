//! Faults and properties for readers who meet them for the first time.
//!
//! The exact sentences stand in the rows of faults and properties. Here each has one plain sentence
//! beside it; a fault also has where it comes from, what helps, and who says so. (What a property's
//! violation means, and what helps there, are its [`Consequence`](super::Consequence).)

use super::consequences::{KLEPPMANN, REDLOCK};
use super::faults::Fault;
use super::properties::{Branching, Fair, Property, Safety};

/// What a reader should know of a fault.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    pub fault: Fault,
    /// What happens, in a plain sentence.
    pub plain: &'static str,
    /// Where it comes from.
    pub cause: &'static str,
    /// What helps.
    pub remedy: &'static str,
    /// Where cause and remedy come from: an address, or a page of the docs.
    pub source: &'static str,
}

const PERSISTENCE: &str =
    "https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/";
const REPLICATION: &str =
    "https://redis.io/docs/latest/operate/oss_and_stack/management/replication/";
const SENTINEL: &str = "https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/";
const EVICTION: &str = "https://redis.io/docs/latest/develop/reference/eviction/";
const LATENCY: &str =
    "https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/latency/";

/// Every fault, in table order.
pub const ORIGINS: [Origin; 24] = [
    Origin {
        fault: Fault::ClientCrash,
        plain: "A client's process dies while it holds the lock or tries to get it, and does not come back.",
        cause: "A crash, a kill for lack of memory, a machine that is lost: the process has no chance to clean up.",
        remedy: "Give each key an expiry in the command that makes it. Nobody else will delete the key.",
        source: REDLOCK,
    },
    Origin {
        fault: Fault::ClientRestart,
        plain: "A client's process dies, and a new one starts under the same name and remembers nothing.",
        cause: "A supervisor restarts a service whose owner id is the name of its host or of its configuration.",
        remedy: "Take a new owner id at each start, or a token for each attempt.",
        source: "docs/locks/reentrant-hash.md",
    },
    Origin {
        fault: Fault::SharedOwner,
        plain: "Two workers of one process use the same owner id.",
        cause: "The owner id is that of the process, and several of its threads use the lock.",
        remedy: "Give each thread an owner id of its own, such as process id and thread id together.",
        source: "docs/locks/reentrant-hash.md",
    },
    Origin {
        fault: Fault::ClientPause,
        plain: "A client stands still for longer than its lease, and goes on as if no time had passed.",
        cause: "A garbage collection, swapping, a virtual machine that is suspended or moved.",
        remedy: "No lease can prevent it. Let the guarded resource refuse a fencing token that is lower than one it \
                 has seen.",
        source: KLEPPMANN,
    },
    Origin {
        fault: Fault::Cancel,
        plain: "A caller gives up in the middle of an operation, and what it has sent still arrives.",
        cause: "An interrupted thread, a cancelled task, a request whose deadline is over.",
        remedy: "After an acquire that was interrupted stop the renewal and delete the key by token: the function \
                 `cancelled` of a lock file.",
        source: "docs/lock-files.md",
    },
    Origin {
        fault: Fault::Overrun,
        plain: "A holder works for longer than its lease.",
        cause: "A slow query, a large job, a lease that was guessed.",
        remedy: "Renew the lease while the work goes on, and stop the work when the validity is over. Where late work \
                 does damage, let the resource check a fencing token.",
        source: REDLOCK,
    },
    Origin {
        fault: Fault::Delay,
        plain: "A message is on its way for longer than a lease.",
        cause: "Queues and retransmissions in the network.",
        remedy: "Count the validity from before the request was sent. Compare a token in each script, so that a late \
                 command changes nobody else's lock.",
        source: KLEPPMANN,
    },
    Origin {
        fault: Fault::Loss,
        plain: "A message is lost, and the client cannot know whether its command was executed.",
        cause: "A connection that breaks, or a time-out that is too short for a slow network.",
        remedy: "Take a missing reply for `unknown`, not for `no`. Delete by token after a failed acquire.",
        source: REDLOCK,
    },
    Origin {
        fault: Fault::Partition,
        plain: "A client cannot reach a server for some time.",
        cause: "A firewall rule, a wrong route, a switch that fails.",
        remedy: "Give each command a time-out, and let the lease end the lock. With a majority of independent servers \
                 one of them may be out of reach.",
        source: REDLOCK,
    },
    Origin {
        fault: Fault::PartitionOneWay,
        plain: "Between a client and a server messages pass in one direction only.",
        cause: "A firewall rule or a route that is wrong for one direction.",
        remedy: "Take a time-out for `unknown`: the server may execute every command, and only its replies are lost.",
        source: "docs/model.md",
    },
    Origin {
        fault: Fault::RestartNone,
        plain: "A server without persistence restarts, and is empty.",
        cause: "A crash or an update of a server that was set up as a cache.",
        remedy: "Keep a server that lost its keys away for longer than the longest lease, or write with `appendfsync \
                 always`.",
        source: REDLOCK,
    },
    Origin {
        fault: Fault::RestartEverysec,
        plain: "A server loses power, and comes back without its last writes.",
        cause: "`appendfsync everysec`: the log of writes reaches the disk once a second.",
        remedy: "Write with `appendfsync always`, or keep the server away for longer than the longest lease.",
        source: PERSISTENCE,
    },
    Origin {
        fault: Fault::RestartAlways,
        plain: "A server that saves every write restarts, and has all its data.",
        cause: "A crash or an update, with `appendfsync always`.",
        remedy: "Only connections and loaded scripts are lost. Take a broken connection for `unknown`, and send the \
                 text of a script again after NOSCRIPT.",
        source: PERSISTENCE,
    },
    Origin {
        fault: Fault::NodeDown,
        plain: "A server is gone for some time, and comes back.",
        cause: "A crash, an update, a host that is restarted.",
        remedy: "With a majority of independent servers the lock can still be taken. One that lost its data must stay \
                 away until all its leases are over.",
        source: REDLOCK,
    },
    Origin {
        fault: Fault::DelayedRestart,
        plain: "A server dies, and stays away for longer than a lease.",
        cause: "The delayed restart that the manual of Redlock recommends.",
        remedy: "It is a remedy itself: whatever the server has forgotten is over when it comes back.",
        source: REDLOCK,
    },
    Origin {
        fault: Fault::NodeFlush,
        plain: "All keys of a server are deleted while it works.",
        cause: "Somebody sends FLUSHALL, or a full cache evicts its keys.",
        remedy: "Keep locks on a server of their own, with `maxmemory-policy noeviction`, and do not let clients send \
                 FLUSHALL.",
        source: EVICTION,
    },
    Origin {
        fault: Fault::NodePause,
        plain: "A server stands still, and later executes what has waited for it.",
        cause: "A slow command or script, a fork, swapping, a virtual machine that is moved.",
        remedy: "Count on it that a command which timed out is executed later: compare tokens on the server, and clean \
                 up after a failed acquire.",
        source: LATENCY,
    },
    Origin {
        fault: Fault::ClientSkew,
        plain: "A client's clock shows a wrong time.",
        cause: "Somebody sets the clock, or time synchronisation corrects it in one step.",
        remedy: "Let the server expire the key, and count durations on a monotonic clock. Store no client's time.",
        source: KLEPPMANN,
    },
    Origin {
        fault: Fault::ClientDrift,
        plain: "A client's clock goes too fast or too slowly.",
        cause: "No two clocks agree exactly, and those of virtual machines less than others.",
        remedy: "Take what clocks may drift off the validity.",
        source: REDLOCK,
    },
    Origin {
        fault: Fault::ClockJump,
        plain: "A server's clock jumps, so that its keys expire too early or too late.",
        cause: "Somebody sets the clock, or time synchronisation corrects it in one step.",
        remedy: "Have clocks corrected slowly, never in a step. Where that cannot be promised, let the resource check \
                 a fencing token.",
        source: KLEPPMANN,
    },
    Origin {
        fault: Fault::Failover,
        plain: "A server dies, and a replica that lacks its last writes takes its place.",
        cause: "Redis replicates asynchronously: a client has its reply before the replica has the write.",
        remedy: "Confirm the acquire with WAIT, and give it up where no replica confirms. Where that is not enough, \
                 ask a majority of independent servers, or let the resource check a fencing token.",
        source: REPLICATION,
    },
    Origin {
        fault: Fault::SplitBrain,
        plain: "A replica takes over, and some clients still use the old server.",
        cause: "The old server is cut off from those who decide on a failover, and not from its clients.",
        remedy: "`min-replicas-to-write` stops the old server's writes after a while. Until then only a fencing token \
                 protects the resource.",
        source: SENTINEL,
    },
    Origin {
        fault: Fault::CutOff,
        plain: "A replica takes over, and nobody reaches the old server any more.",
        cause: "The network of the old server fails.",
        remedy: "As for `failover`; and take a time-out for `unknown`.",
        source: SENTINEL,
    },
    Origin {
        fault: Fault::MinReplicas,
        plain: "A server refuses writes because it no longer hears from its replica.",
        cause: "`min-replicas-to-write 1` is set, and the replica or the link to it fails.",
        remedy: "It is a safeguard: what is refused cannot be lost in a failover. Take the refusal (NOREPLICAS) for a \
                 failed acquire.",
        source: REPLICATION,
    },
];

impl Fault {
    /// What a reader should know of it.
    ///
    /// # Panics
    /// If the table has no row for it, which a test rules out.
    pub fn origin(self) -> &'static Origin {
        let row = ORIGINS.iter().find(|row| row.fault == self);
        row.expect("every fault has an origin")
    }
}

impl Property {
    /// What it asks for, in a plain sentence.
    pub fn plain(self) -> &'static str {
        match self {
            Property::Safety(property) => safety(property),
            Property::Branching(Branching::DeadlockFreedom) => {
                "The lock never gets stuck: it can always be taken again."
            }
            Property::Branching(Branching::FaultTolerance) => {
                "As long as most of the servers work, the lock can be taken."
            }
            Property::Fair(Fair::StarvationFreedom) => {
                "Who keeps trying gets the lock at some time."
            }
        }
    }
}

fn safety(property: Safety) -> &'static str {
    match property {
        Safety::Belief => "Two clients never believe at once that they hold the lock.",
        Safety::Validity => {
            "Two clients never hold the lock at once, each within the time that it was promised."
        }
        Safety::Effect => "No write that the lock guards is lost.",
        Safety::OwnerOnly => "Nobody releases, shortens or prolongs another client's lock.",
        Safety::Reentrancy => {
            "Who holds the lock can take it again, and it is free after as many releases."
        }
        Safety::Lease => {
            "Who is told that it holds the lock has its key on the servers, for no longer than it asked for."
        }
        Safety::NoOrphan => {
            "No key outlives its lease when its client has failed, has released or has died."
        }
        Safety::HonestOutcome => "What an operation reports is what happened.",
        Safety::ReleaseFrees => {
            "After a successful release nobody has to wait for the end of the lease."
        }
        Safety::ReadWrite => "A writer is alone, and readers share the lock with readers only.",
        Safety::NoLostWakeUp => "Nobody sleeps on once the lock is free.",
        Safety::Assertion => "What the author of the lock wrote as an assertion is true.",
        Safety::NoOrphanAtOnce => {
            "A failed acquire and a release clean up at once, not only when the lease ends."
        }
        Safety::FenceMonotonicity => {
            "Each new owner gets a higher number than all owners before it."
        }
        Safety::NoFalseAlarm => "Nobody is told that the lock is lost while it is not.",
        Safety::ToldWhenLost => "Who loses the lock is told so in time.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::catalogue::FAULTS;

    #[test]
    fn every_fault_has_one_origin_in_the_order_of_the_tables() {
        let faults: Vec<Fault> = FAULTS.iter().map(|info| info.fault).collect();
        let origins: Vec<Fault> = ORIGINS.iter().map(|row| row.fault).collect();
        assert_eq!(faults, origins);
    }
}
