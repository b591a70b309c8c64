//! The nemesis: faults against a running topology, by a schedule.
//!
//! A directed replay decides about single messages; the nemesis does what
//! operations do to a system in service: links break, processes stop, disks
//! forget, clocks leap, primaries change. Each fault is one file behind one trait,
//! [`Injection`], and each can be healed. What a schedule says is made from a seed
//! alone ([`Schedule::generate`]), so that a run can be had again; what really
//! happened, and when, is told as it happens ([`NemesisEvent`]).
//!
//! Whom "the holder" is, and when somebody holds, only the run knows: [`Aim`].
//!
//! Rejected: faults drawn while the run goes on (the draw would hang on its
//! timing), and one task a fault (two could strike one server at once, and nobody
//! could say in which order).

mod aim;
mod clients;
mod error;
mod fault;
mod flows;
mod generate;
mod run;
mod schedule;
mod strike_clients;
mod target;

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;

pub use aim::{Aim, Holding, When};
pub use clients::{Clients, NoClients};
pub use error::NemesisError;
pub use fault::{
    Bytes, FAULTS, Failover, FaultInfo, FaultSpec, How, LinkFault, NodeRestart, Partition,
};
pub use flows::{Flow, flows};
pub use generate::Plan;
pub use run::{NemesisEvent, Phase};
pub use schedule::{Act, SCHEDULE_VERSION, Schedule, ScheduleStep};
pub use target::Target;

use super::topology::Topology;

/// What faults strike.
pub struct Field<'a> {
    /// Servers and links.
    pub topology: &'a mut Topology,
    /// The client processes.
    pub clients: &'a mut dyn Clients,
    /// What the fault that is being started may wait for.
    pub aim: Aim,
}

impl<'a> Field<'a> {
    /// Faults strike there at once.
    pub fn new(topology: &'a mut Topology, clients: &'a mut dyn Clients) -> Field<'a> {
        Field {
            topology,
            clients,
            aim: Aim::default(),
        }
    }
}

/// What starting or healing a fault gives: details for the history, or an error.
pub type Struck<'a> = Pin<Box<dyn Future<Output = Result<Value, NemesisError>> + Send + 'a>>;

/// A fault that can be put in force and healed.
pub trait Injection: Send {
    /// Puts it in force; resolves when it is. After an error it may be in force
    /// in part, and is to be healed all the same.
    fn start<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a>;

    /// Ends it; resolves when nothing of it is left but what cannot be undone,
    /// such as lost data. Healing twice is harmless.
    fn heal<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a>;
}
