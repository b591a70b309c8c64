//! Faults that are one action on links: slow network, bandwidth, reset, slow
//! close, data limit, refusal.
//!
//! One file, because they differ in nothing but that action; the proxies know the
//! rest.

use serde_json::json;

use crate::nemesis::flows::{Flow, apply_each, apply_links, flows, links_of, none_found};
use crate::nemesis::target::{Target, names, processes_among, resolve};
use crate::nemesis::{Field, Injection, Struck};
use crate::proxy::{Cut, Direction, LinkAction};
use crate::topology::{LinkName, Topology};

/// What is done to the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkHarm {
    /// Bytes are late, by so many ms and plus or minus so many.
    Slow {
        /// In the middle, one way.
        latency_ms: u32,
        /// Plus or minus up to this.
        jitter_ms: u32,
    },
    /// Bytes trickle.
    Bandwidth {
        /// In kB a second.
        kb_per_s: u32,
    },
    /// Connections are reset, once.
    Reset,
    /// Ends of connections are late.
    SlowClose {
        /// By so many ms.
        ms: u32,
    },
    /// Connections end after so many bytes.
    DataLimit {
        /// So many each way.
        bytes: u64,
    },
    /// Connections are ended, and new ones refused.
    Refuse,
}

/// Harm to all links between two groups.
#[derive(Clone, Debug)]
pub struct LinkFault {
    name: &'static str,
    harm: LinkHarm,
    between: Vec<Target>,
    and: Vec<Target>,
    struck: Vec<Flow>,
}

impl LinkFault {
    /// A fault with this catalogue name, between these and those.
    pub(super) fn new(
        name: &'static str,
        harm: LinkHarm,
        between: &[Target],
        and: &[Target],
    ) -> LinkFault {
        LinkFault {
            name,
            harm,
            between: between.to_vec(),
            and: and.to_vec(),
            struck: Vec::new(),
        }
    }

    /// What it does to one direction of a link that takes `distance_ms` by itself, or
    /// `None` if it concerns whole links.
    fn action(&self, distance_ms: u32, direction: Direction, on: bool) -> Option<LinkAction> {
        let of = |value: u32| if on { value } else { 0 };
        Some(match self.harm {
            LinkHarm::Slow {
                latency_ms,
                jitter_ms,
            } => LinkAction::Jitter {
                direction,
                ms: distance_ms + of(latency_ms),
                jitter_ms: of(jitter_ms),
            },
            LinkHarm::Bandwidth { kb_per_s } => LinkAction::Bandwidth {
                direction,
                kb_per_s: of(kb_per_s),
            },
            LinkHarm::SlowClose { ms } => LinkAction::SlowClose {
                direction,
                ms: of(ms),
            },
            LinkHarm::DataLimit { bytes } => LinkAction::DataLimit {
                direction,
                bytes: on.then_some(bytes),
            },
            LinkHarm::Reset | LinkHarm::Refuse => return None,
        })
    }

    async fn set(&self, topology: &Topology, on: bool) -> Result<(), crate::nemesis::NemesisError> {
        let whole: Vec<LinkName> = links_of(&self.struck);
        match (self.harm, on) {
            (LinkHarm::Reset, true) => {
                apply_links(topology, &whole, LinkAction::Cut(Cut::Rst)).await
            }
            (LinkHarm::Reset, false) => Ok(()),
            (LinkHarm::Refuse, true) => apply_links(topology, &whole, LinkAction::Down).await,
            (LinkHarm::Refuse, false) => apply_links(topology, &whole, LinkAction::Up).await,
            _ => {
                // Whole links were dealt with above.
                let action = |name, direction| {
                    let action = self.action(topology.distance_ms(name), direction, on);
                    action.unwrap_or(LinkAction::Up)
                };
                apply_each(topology, &self.struck, action).await
            }
        }
    }
}

impl Injection for LinkFault {
    fn start<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            let between = resolve(&self.between, field).await?;
            let and = resolve(&self.and, field).await?;
            self.struck = flows(field.topology, &between, &and, true);
            if self.struck.is_empty() {
                return Err(none_found(self.name));
            }
            self.set(field.topology, true).await?;
            Ok(json!({
                "between": names(&between), "and": names(&and),
                "links": links_of(&self.struck).len(),
                "processes": processes_among(&[between, and].concat(), field),
            }))
        })
    }

    fn heal<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            self.set(field.topology, false).await?;
            self.struck.clear();
            Ok(json!({}))
        })
    }
}
