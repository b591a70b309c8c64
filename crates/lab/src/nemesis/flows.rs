//! Which bytes of which links go from one group to another.
//!
//! A link is named for who connects, but its bytes go both ways, and two nodes
//! that talk both ways have two links. "What A says no longer reaches B" is
//! therefore the requests on the links from A to B and the replies on those from
//! B to A.

use super::super::proxy::{Direction, LinkAction};
use super::super::topology::{LinkName, Party, Topology};
use super::NemesisError;

/// One direction of one link.
pub type Flow = (LinkName, Direction);

/// The flows from one group to another; with `both`, also back.
pub fn flows(topology: &Topology, from: &[Party], to: &[Party], both: bool) -> Vec<Flow> {
    let mut found = Vec::new();
    for name in topology.links() {
        let (sender, receiver) = (&name.from, &name.to);
        let there = from.contains(sender) && to.contains(receiver);
        let back = to.contains(sender) && from.contains(receiver);
        if there || (both && back) {
            found.push((name, Direction::ToServer));
        }
        if back || (both && there) {
            found.push((name, Direction::ToClient));
        }
    }
    found
}

/// The links of these flows, each once.
pub(super) fn links_of(flows: &[Flow]) -> Vec<LinkName> {
    let mut names: Vec<LinkName> = flows.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Does something to each flow, and goes on after an error; gives the first.
pub(super) async fn apply_all(
    topology: &Topology,
    flows: &[Flow],
    action: impl Fn(Direction) -> LinkAction,
) -> Result<(), NemesisError> {
    apply_each(topology, flows, |_, direction| action(direction)).await
}

/// The same where the link decides too.
pub(super) async fn apply_each(
    topology: &Topology,
    flows: &[Flow],
    action: impl Fn(LinkName, Direction) -> LinkAction,
) -> Result<(), NemesisError> {
    let mut first = Ok(());
    for (name, direction) in flows {
        let done = topology.link(*name)?.apply(action(*name, *direction)).await;
        if first.is_ok() {
            first = done.map_err(NemesisError::from);
        }
    }
    first
}

/// The same for whole links.
pub(super) async fn apply_links(
    topology: &Topology,
    names: &[LinkName],
    action: LinkAction,
) -> Result<(), NemesisError> {
    let mut first = Ok(());
    for name in names {
        let done = topology.link(*name)?.apply(action).await;
        if first.is_ok() {
            first = done.map_err(NemesisError::from);
        }
    }
    first
}

/// Why nothing would happen.
pub(super) fn none_found(fault: &'static str) -> NemesisError {
    NemesisError::NotApplicable {
        fault,
        why: "no link joins these parties; Topology::links lists them".into(),
    }
}
