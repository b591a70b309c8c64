//! What a fault did to a server's process, and how it is taken back.

use serde_json::{Value, json};

use crate::nemesis::NemesisError;
use crate::topology::{Party, Topology, TopologyError};

/// What a fault did to the process of a server.
#[derive(Clone, Copy, Debug)]
pub(super) enum Felled {
    Killed,
    Paused,
}

impl Felled {
    /// Takes it back.
    pub async fn raise(self, party: Party, topology: &mut Topology) -> Result<(), TopologyError> {
        match self {
            Felled::Killed => topology.revive_server(party).await,
            Felled::Paused => topology.resume_server(party).await,
        }
    }

    /// Takes it back for each of these servers, also after an error; those that
    /// failed stay in the list. Gives the first error.
    pub async fn raise_all(
        self,
        struck: &mut Vec<Party>,
        topology: &mut Topology,
    ) -> Result<Value, NemesisError> {
        let mut first = Ok(json!({}));
        for party in std::mem::take(struck) {
            if let Err(error) = self.raise(party, topology).await {
                struck.push(party);
                first = first.and(Err(error.into()));
            }
        }
        first
    }
}
