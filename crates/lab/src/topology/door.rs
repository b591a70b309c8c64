//! A door: one address, behind which different comers get different links.
//!
//! Redis lets a server announce a single address, to everybody. Were that address
//! one proxy, a partition between two of three nodes could not be had: the link
//! could only be cut for all comers. So the announced address is a door. It sees
//! from which loopback address a connection comes (every server is started with
//! `bind-source-addr` and an address of its own out of 127.0.0.0/8) and hands it
//! to the link of exactly that pair.
//!
//! A door without sources is a virtual address, as a load balancer or a floating
//! IP gives one: all comers get one link, which can be changed.
//!
//! Rejected: a proxy that rewrites the addresses in INFO, ROLE, CLUSTER SLOTS and
//! in the messages of Sentinel and the bus (it would have to understand each of
//! them in each version), and a network namespace for each node (needs root).

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use super::super::proxy::embedded::EmbeddedProxy;
use super::super::server::port::{PortLease, listen};
use super::names::Party;

/// The loopback address that a party's connections come from; `None` for guests,
/// who come from wherever they like.
pub(super) fn source(party: Party) -> Option<Ipv4Addr> {
    let address = |subnet, number: u16| {
        // 127.0.1.1 is node 0; more than 254 of a kind are refused earlier.
        u8::try_from(number + 1)
            .ok()
            .map(|host| Ipv4Addr::new(127, 0, subnet, host))
    };
    match party {
        Party::Node(number) => address(1, number),
        Party::Sentinel(number) => address(2, number),
        Party::Client(number) => address(3, number),
        Party::Guest => None,
    }
}

/// Where a door leads.
#[derive(Clone, Debug)]
pub(super) enum Way {
    /// Into a proxy of this process, without a further connection.
    Embedded(Arc<EmbeddedProxy>),
    /// To a proxy elsewhere.
    Address(SocketAddr),
}

#[derive(Debug, Default)]
struct Ways {
    by_source: BTreeMap<Ipv4Addr, Way>,
    others: Option<Way>,
}

/// One address with links behind it. Dropping it ends what passes through it to
/// proxies elsewhere; a link of this process ends its connections itself.
#[derive(Debug)]
pub(super) struct Door {
    lease: PortLease,
    ways: Arc<Mutex<Ways>>,
    task: JoinHandle<()>,
}

impl Door {
    /// Listens on a free loopback port. Who comes before his link is known waits
    /// at the door, so that servers may start before all links exist.
    pub fn open() -> io::Result<Door> {
        let lease = PortLease::take()?;
        let listener = listen(lease.address())?;
        let ways = Arc::new(Mutex::new(Ways::default()));
        let task = tokio::spawn(accept(listener, ways.clone()));
        Ok(Door { lease, ways, task })
    }

    pub fn address(&self) -> SocketAddr {
        self.lease.address()
    }

    /// Gives this party its link; for guests, all who have none of their own.
    pub fn admit(&self, party: Party, way: Way) {
        let mut ways = lock(&self.ways);
        match source(party) {
            Some(address) => drop(ways.by_source.insert(address, way)),
            None => ways.others = Some(way),
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(ways: &Mutex<Ways>) -> MutexGuard<'_, Ways> {
    // Nothing that holds the lock can leave it half changed.
    ways.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, ways: Arc<Mutex<Ways>>) {
    let mut passing = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = passing.join_next() => continue,
        };
        let Ok((comer, from)) = accepted else {
            // Out of descriptors: others will be closed before long.
            sleep(Duration::from_millis(5)).await;
            continue;
        };
        match way(&ways, from) {
            Some(Way::Embedded(proxy)) => proxy.adopt(comer),
            Some(Way::Address(address)) => drop(passing.spawn(pass(comer, address))),
            None => drop(passing.spawn(wait_and_pass(comer, from, ways.clone()))),
        }
    }
}

fn way(ways: &Mutex<Ways>, from: SocketAddr) -> Option<Way> {
    let ways = lock(ways);
    let own = match from.ip() {
        IpAddr::V4(address) => ways.by_source.get(&address),
        IpAddr::V6(_) => None,
    };
    own.or(ways.others.as_ref()).cloned()
}

async fn wait_and_pass(comer: TcpStream, from: SocketAddr, ways: Arc<Mutex<Ways>>) {
    loop {
        match way(&ways, from) {
            Some(Way::Embedded(proxy)) => return proxy.adopt(comer),
            Some(Way::Address(address)) => return pass(comer, address).await,
            None => sleep(Duration::from_millis(5)).await,
        }
    }
}

/// Joins a comer with a proxy elsewhere until one of them ends; a reset stays a
/// reset.
async fn pass(mut comer: TcpStream, to: SocketAddr) {
    let joined = async {
        comer.set_nodelay(true)?;
        let mut link = TcpStream::connect(to).await?;
        link.set_nodelay(true)?;
        let passed = copy_bidirectional(&mut comer, &mut link).await;
        if passed.is_err() {
            link.set_zero_linger()?;
        }
        passed
    };
    if joined.await.is_err() {
        // On failure it becomes a FIN, which ends the connection as well.
        let _ = comer.set_zero_linger();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpSocket;

    async fn come(from: Ipv4Addr, to: SocketAddr) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((from, 0).into()).unwrap();
        socket.connect(to).await.unwrap()
    }

    /// Listens, and greets each comer with a byte.
    async fn greeter(byte: u8) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                stream.write_all(&[byte]).await.unwrap();
            }
        });
        address
    }

    #[tokio::test]
    async fn each_source_gets_its_own_link_and_strangers_the_common_one() {
        let door = Door::open().unwrap();
        let own = source(Party::Node(4)).unwrap();
        let mut early = come(own, door.address()).await;
        door.admit(Party::Node(4), Way::Address(greeter(b'4').await));
        door.admit(Party::Guest, Way::Address(greeter(b'g').await));
        assert_eq!(early.read_u8().await.unwrap(), b'4');
        let mut node = come(own, door.address()).await;
        let mut guest = come(Ipv4Addr::LOCALHOST, door.address()).await;
        assert_eq!(node.read_u8().await.unwrap(), b'4');
        assert_eq!(guest.read_u8().await.unwrap(), b'g');
    }
}
