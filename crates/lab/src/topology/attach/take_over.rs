//! What a killed run left, and putting that right.

use std::collections::BTreeSet;

use super::super::super::proxy::toxiproxy::{Api, ToxiproxyError};
use super::super::Topology;
use super::super::error::TopologyError;
use super::super::names::Party;
use super::records::{Left, Record, Was};

/// What runs have left at a toxiproxy.
pub async fn left(api: &Api) -> Result<Vec<Left>, TopologyError> {
    let proxies = api.proxies().await.map_err(ToxiproxyError::from)?;
    let read = |(proxy, upstream): (String, String)| Left::read(&proxy, &upstream);
    Ok(proxies.into_iter().filter_map(read).collect())
}

/// An error if another run is there.
pub fn check(left: &[Left]) -> Result<(), TopologyError> {
    match left.first() {
        None => Ok(()),
        Some(left) => Err(TopologyError::Occupied {
            proxy: left.proxy.clone(),
            keys: left.drawn.prefix(),
        }),
    }
}

impl Topology {
    /// Does what the killed run could not do any more. The records go last: if this
    /// fails, it can be done again.
    pub(super) async fn take_over(
        &mut self,
        api: &Api,
        left: &[Left],
    ) -> Result<(), TopologyError> {
        self.all_are_given(left)?;
        let delete = async |what: bool| {
            for one in left.iter().filter(|one| one.record.is_some() == what) {
                api.delete(&one.proxy).await.map_err(ToxiproxyError::from)?;
            }
            Ok::<(), TopologyError>(())
        };
        delete(false).await?;
        let mut complaints = self.set_again(left).await;
        if let Some(found) = self.roles_in(left) {
            complaints.extend(self.put_back(&found).await);
        }
        let names: BTreeSet<_> = left.iter().map(|one| &one.drawn).collect();
        for drawn in names {
            complaints.extend(self.forget(drawn).await);
        }
        match complaints.is_empty() {
            true => delete(true).await,
            false => Err(TopologyError::NotPutBack(complaints)),
        }
    }

    fn announces(&self, left: &Left) -> Option<u16> {
        let is_it = |node: &u16| {
            let announced = self.announced(Party::Node(*node));
            announced.is_ok_and(|announced| left.is_about(announced))
        };
        (0..self.kind().nodes()).find(is_it)
    }

    fn all_are_given(&self, left: &[Left]) -> Result<(), TopologyError> {
        let mut records = left.iter().filter(|one| one.record.is_some());
        match records.find(|one| self.announces(one).is_none()) {
            Some(Left {
                record: Some((server, _)),
                proxy,
                ..
            }) => Err(TopologyError::Misfit(format!(
                "the killed run was on {server} too, which is not given now; give the same servers \
                 to --take-over, or delete the proxy `{proxy}` to leave that one as it is"
            ))),
            _ => Ok(()),
        }
    }

    async fn set_again(&self, left: &[Left]) -> Vec<String> {
        let mut complaints = Vec::new();
        for one in left {
            if let (Some(node), Some((_, Record::Setting { name, value }))) =
                (self.announces(one), &one.record)
            {
                let set = ["CONFIG", "SET", name, value];
                if let Err(error) = self.order(Party::Node(node), &set).await {
                    complaints.push(format!("node-{node} had {name} {value}: {error}"));
                }
            }
        }
        complaints
    }

    /// The roles of all nodes; `None` unless every one is recorded.
    fn roles_in(&self, left: &[Left]) -> Option<Vec<Was>> {
        let role = |node: u16| {
            let about = left.iter().filter(|one| self.announces(one) == Some(node));
            about
                .filter_map(|one| one.record.as_ref())
                .find_map(|(_, record)| match record {
                    Record::Role(was) => Some(was.clone()),
                    Record::Setting { .. } => None,
                })
        };
        (0..self.kind().nodes()).map(role).collect()
    }
}
