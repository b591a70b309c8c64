//! A partition: one group's bytes do not reach another.
//!
//! Three kinds of it are real. While a partition is shorter than TCP's patience,
//! the kernel sends again what was lost, so bytes arrive late: that is how a
//! request is applied long after its sender gave up. In a longer one connections
//! die with what was in them. The first is a hold; the second a black hole, at
//! whose end the connections are reset, as the peer's kernel would. Both are done by
//! proxies, which still answer whoever connects. The third needs root: the kernel
//! drops packets, so that new connections hang as well.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::nemesis::flows::{Flow, apply_all, apply_links, flows, links_of, none_found};
use crate::nemesis::target::{Target, names, processes_among, resolve};
use crate::nemesis::{Field, Injection, NemesisError, Struck};
use crate::own_network::drop_packets;
use crate::proxy::{Cut, Direction, LinkAction};
use crate::topology::{LinkName, Topology};

/// What becomes of bytes that a partition stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bytes {
    /// They arrive when it heals.
    Late,
    /// They are lost, and their connections with them.
    Lost,
    /// Their packets are dropped, as behind a pulled cable; TCP sends again. Only
    /// in a network of the run's own, which needs root (`--own-network`).
    Dropped,
}

/// Bytes stop between two groups.
#[derive(Clone, Debug)]
pub struct Partition {
    between: Vec<Target>,
    and: Vec<Target>,
    one_way: bool,
    bytes: Bytes,
    struck: Vec<Flow>,
}

impl Partition {
    /// Between these and those; `one_way` stops only what the first say.
    pub fn new(between: &[Target], and: &[Target], one_way: bool, bytes: Bytes) -> Partition {
        Partition {
            between: between.to_vec(),
            and: and.to_vec(),
            one_way,
            bytes,
            struck: Vec::new(),
        }
    }
}

impl Injection for Partition {
    fn start<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            let between = resolve(&self.between, field).await?;
            let and = resolve(&self.and, field).await?;
            self.struck = flows(field.topology, &between, &and, !self.one_way);
            if self.struck.is_empty() {
                return Err(none_found("partition"));
            }
            match self.bytes {
                Bytes::Late => apply_all(field.topology, &self.struck, LinkAction::Hold).await?,
                Bytes::Lost => {
                    apply_all(field.topology, &self.struck, LinkAction::Blackhole).await?;
                }
                Bytes::Dropped => drop_all(field.topology, &self.struck, true)?,
            }
            Ok(json!({
                "between": names(&between), "and": names(&and), "one_way": self.one_way,
                "bytes": self.bytes, "flows": self.struck.len(),
                "processes": processes_among(&[between, and].concat(), field),
            }))
        })
    }

    fn heal<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            match self.bytes {
                Bytes::Late => {
                    apply_all(field.topology, &self.struck, LinkAction::Release).await?;
                }
                Bytes::Lost => {
                    apply_all(field.topology, &self.struck, LinkAction::Fill).await?;
                    let links = links_of(&self.struck);
                    apply_links(field.topology, &links, LinkAction::Cut(Cut::Rst)).await?;
                }
                Bytes::Dropped => drop_all(field.topology, &self.struck, false)?,
            }
            self.struck.clear();
            Ok(json!({}))
        })
    }
}

/// Drops the packets of these flows, or lets them pass; goes on after an error and
/// gives the first.
fn drop_all(topology: &Topology, flows: &[Flow], drop: bool) -> Result<(), NemesisError> {
    let mut first = Ok(());
    for (name, direction) in flows {
        let done = drop_one(topology, *name, *direction, drop);
        if first.is_ok() {
            first = done;
        }
    }
    first
}

fn drop_one(
    topology: &Topology,
    name: LinkName,
    direction: Direction,
    drop: bool,
) -> Result<(), NemesisError> {
    let not_here = |why: String| NemesisError::NotApplicable {
        fault: "partition",
        why,
    };
    if topology.options().attach.is_some() {
        return Err(not_here("attached servers are in another network".into()));
    }
    if topology.kind().replicates() && topology.embedded(name).is_some() {
        let why = "behind an announced address the embedded proxy has no port of its own";
        return Err(not_here(format!("{why}; use toxiproxy")));
    }
    let port = topology.link(name)?.address().port();
    drop_packets(port, direction, drop).map_err(|error| not_here(error.to_string()))
}
