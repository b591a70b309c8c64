//! Whom a fault strikes.
//!
//! A schedule is made before the run, but who is primary is known only in it, so
//! some targets stay words until the fault strikes. Others are draws: a plan says
//! "some node", and the schedule that is made from it says which.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::super::topology::{NameError, Party, Topology};
use super::aim::PATIENCE;
use super::{Field, NemesisError};

/// Whom a fault strikes; spelt as in `client-0`, `primary`, `minority`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Target {
    /// Exactly this one.
    One(Party),
    /// The node that is primary when the fault strikes.
    Primary,
    /// All nodes but the primary of that moment.
    Replicas,
    /// All nodes.
    Nodes,
    /// All Sentinels.
    Sentinels,
    /// All clients, and guests.
    Clients,
    /// A draw: one client.
    SomeClient,
    /// A draw: one node.
    SomeNode,
    /// A draw: as many nodes as can be without being half of them.
    Minority,
    /// The nodes that `minority` left over, in the same fault.
    Majority,
    /// The client that works under the lock when the fault strikes; it is waited for.
    TheHolder,
}

const WORDS: [(&str, Target); 10] = [
    ("primary", Target::Primary),
    ("replicas", Target::Replicas),
    ("nodes", Target::Nodes),
    ("sentinels", Target::Sentinels),
    ("clients", Target::Clients),
    ("some-client", Target::SomeClient),
    ("some-node", Target::SomeNode),
    ("minority", Target::Minority),
    ("majority", Target::Majority),
    ("the-holder", Target::TheHolder),
];

impl Target {
    /// Exactly this node.
    pub fn node(number: u16) -> Target {
        Target::One(Party::Node(number))
    }

    /// True for one client, a draw of one, the holder, and all of them.
    pub fn is_client(self) -> bool {
        matches!(
            self,
            Target::Clients
                | Target::SomeClient
                | Target::TheHolder
                | Target::One(Party::Client(_) | Party::Guest)
        )
    }

    /// Exactly this client.
    pub fn client(number: u16) -> Target {
        Target::One(Party::Client(number))
    }

    /// True if only a draw makes it definite.
    pub fn is_draw(self) -> bool {
        matches!(
            self,
            Target::SomeClient | Target::SomeNode | Target::Minority | Target::Majority
        )
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, WORDS.iter().find(|(_, target)| target == self)) {
            (Target::One(party), _) => party.fmt(f),
            (_, Some((word, _))) => f.write_str(word),
            // Every other target is in the table; a test walks it.
            (_, None) => f.write_str("?"),
        }
    }
}

impl FromStr for Target {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Target, NameError> {
        match WORDS.iter().find(|(word, _)| *word == text) {
            Some((_, target)) => Ok(*target),
            None => text.parse().map(Target::One),
        }
    }
}

impl From<Target> for String {
    fn from(target: Target) -> String {
        target.to_string()
    }
}

impl TryFrom<String> for Target {
    type Error = NameError;

    fn try_from(text: String) -> Result<Target, NameError> {
        text.parse()
    }
}

/// The parties of this moment that these targets mean, each once, in order. A holder
/// is waited for.
pub(super) async fn resolve(
    targets: &[Target],
    field: &mut Field<'_>,
) -> Result<Vec<Party>, NemesisError> {
    let mut parties = definite(targets, field.topology).await?;
    if targets.contains(&Target::TheHolder) {
        let found = field.holder(0, PATIENCE).await;
        let client = found.ok_or(NemesisError::NobodyHeld)?.client;
        parties.push(Party::Client(client));
    }
    parties.sort_unstable();
    parties.dedup();
    Ok(parties)
}

/// All but the holder.
async fn definite(targets: &[Target], topology: &Topology) -> Result<Vec<Party>, NemesisError> {
    let mut parties = Vec::new();
    for target in targets {
        match target {
            Target::One(party) => parties.push(*party),
            Target::Nodes => parties.extend(topology.nodes()),
            Target::Sentinels => parties.extend(topology.sentinels()),
            Target::Clients => {
                parties.extend(topology.clients());
                parties.push(Party::Guest);
            }
            Target::Primary => parties.push(Party::Node(topology.primary().await?)),
            Target::Replicas => {
                let primary = Party::Node(topology.primary().await?);
                parties.extend(topology.nodes().filter(|node| *node != primary));
            }
            Target::TheHolder => {}
            Target::SomeClient | Target::SomeNode | Target::Minority | Target::Majority => {
                return Err(NemesisError::Undrawn(*target));
            }
        }
    }
    Ok(parties)
}

/// The same, as client numbers; others are left out.
pub(super) async fn resolve_clients(
    targets: &[Target],
    field: &mut Field<'_>,
) -> Result<Vec<u16>, NemesisError> {
    let parties = resolve(targets, field).await?;
    Ok(numbers(parties))
}

/// The same without the holder, who is stopped in the midst of his work
/// ([`Field::stop_holder`]).
pub(super) async fn named_clients(
    targets: &[Target],
    topology: &Topology,
) -> Result<Vec<u16>, NemesisError> {
    let mut parties = definite(targets, topology).await?;
    parties.sort_unstable();
    parties.dedup();
    Ok(numbers(parties))
}

fn numbers(parties: Vec<Party>) -> Vec<u16> {
    let client = |party| match party {
        Party::Client(number) => Some(number),
        _ => None,
    };
    parties.into_iter().filter_map(client).collect()
}

/// The numbers that the clients among these bear in the history; `None` if there is
/// none among them.
pub(super) fn processes_among(parties: &[Party], field: &Field<'_>) -> Option<Vec<u32>> {
    let clients = numbers(parties.to_vec());
    let processes = clients.iter().map(|client| field.clients.process(*client));
    (!clients.is_empty()).then(|| processes.collect())
}

/// Names of parties, for the history.
pub(super) fn names(parties: &[Party]) -> Vec<String> {
    parties.iter().map(Party::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_survives_its_text() {
        let ones = [Target::node(3), Target::client(0)].map(|target| target.to_string());
        let words = WORDS.map(|(word, _)| word.to_owned());
        for text in ones.iter().chain(&words) {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), *text);
        }
        assert!("nobody".parse::<Target>().is_err());
    }
}
