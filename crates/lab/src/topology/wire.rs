//! The proxy of one link, of whichever kind, and the making of many.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinSet;

use super::super::proxy::embedded::{EmbeddedOptions, EmbeddedProxy, Framing, Mode};
use super::super::proxy::event::LinkId;
use super::super::proxy::toxiproxy::{Endpoint, Toxiproxy, ToxiproxyLink};
use super::super::proxy::{Applied, Cut, Direction, Link, LinkAction, ProxyKind};
use super::door::Way;
use super::error::TopologyError;
use super::names::{Channel, LinkName, Party};
use super::options::TopologyOptions;

/// How many links are made at once: each is a few calls of toxiproxy's API, and
/// each call occupies a thread.
const AT_ONCE: usize = 16;

/// What the names of proxies begin with in a toxiproxy of our own.
const NAMES: &str = "lockproof.";

/// One link.
#[derive(Debug)]
pub(super) struct Wire {
    proxy: Proxy,
    /// How many faults stop it just now, each in its way: what one heals, another
    /// may still want.
    stops: Mutex<BTreeMap<Stop, u32>>,
}

/// A way to stop a link, or one direction of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stop {
    Hold(Direction),
    Blackhole(Direction),
    Down,
}

/// Of whichever kind.
#[derive(Debug)]
enum Proxy {
    Embedded(Arc<EmbeddedProxy>),
    Toxiproxy(Box<ToxiproxyLink>),
}

impl From<Proxy> for Wire {
    fn from(proxy: Proxy) -> Wire {
        Wire {
            proxy,
            stops: Mutex::default(),
        }
    }
}

impl Wire {
    /// The way through this link, for a door.
    pub fn way(&self) -> Way {
        match &self.proxy {
            Proxy::Embedded(proxy) => Way::Embedded(proxy.clone()),
            Proxy::Toxiproxy(link) => Way::Address(link.address()),
        }
    }

    /// Takes the proxy away from a toxiproxy that outlives this run.
    pub async fn remove(self) -> Result<(), TopologyError> {
        match self.proxy {
            Proxy::Embedded(_) => Ok(()),
            Proxy::Toxiproxy(link) => Ok(link.delete().await?),
        }
    }

    pub fn embedded(&self) -> Option<&EmbeddedProxy> {
        match &self.proxy {
            Proxy::Embedded(proxy) => Some(proxy),
            Proxy::Toxiproxy(_) => None,
        }
    }

    /// Whether this action changes anything, given the other faults in force.
    fn counts(&self, action: LinkAction) -> bool {
        let mut stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        let (stop, begins) = match action {
            LinkAction::Hold(direction) => (Stop::Hold(direction), true),
            LinkAction::Release(direction) => (Stop::Hold(direction), false),
            LinkAction::Blackhole(direction) => (Stop::Blackhole(direction), true),
            LinkAction::Fill(direction) => (Stop::Blackhole(direction), false),
            LinkAction::Down => (Stop::Down, true),
            LinkAction::Up => (Stop::Down, false),
            LinkAction::Heal => {
                stops.clear();
                return true;
            }
            _ => return true,
        };
        let count = stops.entry(stop).or_default();
        if begins {
            *count += 1;
            *count == 1
        } else {
            *count = count.saturating_sub(1);
            *count == 0
        }
    }
}

impl Link for Wire {
    fn address(&self) -> SocketAddr {
        match &self.proxy {
            Proxy::Embedded(proxy) => proxy.address(),
            Proxy::Toxiproxy(link) => link.address(),
        }
    }

    fn apply(&self, action: LinkAction) -> Applied<'_> {
        if !self.counts(action) {
            return Box::pin(std::future::ready(Ok(())));
        }
        match &self.proxy {
            Proxy::Embedded(proxy) => proxy.apply(action),
            Proxy::Toxiproxy(link) => link.apply(action),
        }
    }
}

/// Makes links of one kind.
#[derive(Clone, Debug)]
pub(super) struct WireMaker {
    options: TopologyOptions,
    toxiproxy: Option<Toxiproxy>,
    /// What the names of proxies begin with.
    names: String,
    /// Ports of an attached toxiproxy that are still free.
    ports: Arc<Mutex<RangeInclusive<u16>>>,
}

impl WireMaker {
    /// Makes links under these names in a toxiproxy that somebody else has started.
    pub async fn attached(
        options: &TopologyOptions,
        toxiproxy: Toxiproxy,
        names: String,
    ) -> Result<WireMaker, TopologyError> {
        let made = WireMaker::new(options).await?;
        Ok(WireMaker {
            toxiproxy: Some(toxiproxy),
            names,
            ..made
        })
    }

    /// Starts a toxiproxy if links are to run through one of our own.
    pub async fn new(options: &TopologyOptions) -> Result<WireMaker, TopologyError> {
        let toxiproxy = match (&options.attach, &options.proxy) {
            (Some(_), _) | (None, ProxyKind::Embedded) => None,
            (None, ProxyKind::Toxiproxy(program)) => Some(Toxiproxy::start(program).await?),
        };
        let attached = options.attach.as_ref();
        #[allow(clippy::reversed_empty_ranges)] // no port at all
        let ports = attached.map_or(1..=0, |attached| attached.toxiproxy.ports.clone());
        Ok(WireMaker {
            options: options.clone(),
            toxiproxy,
            names: NAMES.into(),
            ports: Arc::new(Mutex::new(ports)),
        })
    }

    /// The toxiproxy that all links run through, if there is one.
    pub fn toxiproxy(&self) -> Option<&Toxiproxy> {
        self.toxiproxy.as_ref()
    }

    /// Makes all of these links, in any order; gives them in the given one.
    pub async fn make_all(
        &self,
        plans: &[(LinkName, SocketAddr)],
    ) -> Result<Vec<(LinkName, Wire)>, TopologyError> {
        let mut made = Vec::with_capacity(plans.len());
        for some in plans.chunks(AT_ONCE) {
            let mut making = JoinSet::new();
            for (name, upstream) in some.iter().copied() {
                let maker = self.clone();
                making.spawn(async move { (name, maker.make(name, upstream).await) });
            }
            for (name, wire) in making.join_all().await {
                made.push((name, wire?));
            }
        }
        made.sort_by_key(|(name, _)| *name);
        Ok(made)
    }

    /// Where the next proxy of an attached toxiproxy is to listen; `None` for one
    /// of our own.
    fn attached_place(&self) -> Result<Option<Endpoint>, TopologyError> {
        let Some(attached) = &self.options.attach else {
            return Ok(None);
        };
        let proxy = &attached.toxiproxy;
        let mut ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        let port = ports.next().ok_or_else(|| {
            TopologyError::Options("the attached toxiproxy has no port left".into())
        })?;
        Ok(Some(Endpoint {
            listen: SocketAddr::new(proxy.listen, port),
            reached_at: SocketAddr::new(proxy.api.ip(), port),
        }))
    }

    async fn make(&self, name: LinkName, upstream: SocketAddr) -> Result<Wire, TopologyError> {
        if let Some(toxiproxy) = &self.toxiproxy {
            // Resets must be possible; see toxiproxy.rs for why that is settled
            // here. The name becomes a part of a path.
            let plain = format!(
                "{}{}",
                self.names,
                name.to_string().replace(['>', '/'], ".")
            );
            let link = match self.attached_place()? {
                Some(place) => toxiproxy.link_at(&plain, place, upstream, Cut::Rst).await?,
                None => toxiproxy.link(&plain, upstream, Cut::Rst).await?,
            };
            return Ok(Proxy::Toxiproxy(Box::new(link)).into());
        }
        // Only a client's commands are looked at; replication, Sentinels and the
        // bus are bytes.
        let (framing, id) = match (name.from, name.to, name.channel) {
            (Party::Client(client), Party::Node(node), Channel::Data) => {
                (Framing::Resp, LinkId { client, node })
            }
            _ => (Framing::Raw, LinkId { client: 0, node: 0 }),
        };
        let watched = match framing {
            Framing::Resp => self.options.events.clone(),
            Framing::Raw => None,
        };
        let options = EmbeddedOptions {
            mode: match watched {
                Some(_) => Mode::Watch,
                None => Mode::Pass,
            },
            framing,
            seed: self.options.seed,
            ..Default::default()
        };
        let events = watched.unwrap_or_else(|| unbounded_channel().0);
        let proxy = EmbeddedProxy::start(id, upstream, options, events).await?;
        Ok(Proxy::Embedded(Arc::new(proxy)).into())
    }
}
