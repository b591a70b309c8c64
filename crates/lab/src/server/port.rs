//! Loopback ports that stay ours.
//!
//! Asking the kernel for a free port, closing the socket and telling a server
//! its number is a race: two runs on one machine can be told the same one, and a
//! killed server may not get its port back. A lease ends that. It is a socket
//! that is bound and never listens; the server binds the port as well, which the
//! kernel allows because both sides ask for reuse, and gives the port to nobody
//! else: neither to who wants any port nor to an outgoing connection. While
//! nobody listens, connections to it are refused.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::{TcpListener, TcpSocket};

/// A loopback port, for as long as this value lives.
#[derive(Debug)]
pub(crate) struct PortLease {
    address: SocketAddr,
    _socket: TcpSocket,
}

impl PortLease {
    /// Takes a port that nobody has.
    pub fn take() -> io::Result<PortLease> {
        let socket = bind((Ipv4Addr::LOCALHOST, 0).into())?;
        Ok(PortLease {
            address: socket.local_addr()?,
            _socket: socket,
        })
    }

    /// The leased address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Listens, in this process, on a port that somebody leased.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    bind(address)?.listen(1024)
}

fn bind(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[tokio::test]
    async fn a_leased_port_is_given_to_nobody_else_and_refuses() {
        let leases: Vec<PortLease> = (0..200).map(|_| PortLease::take().unwrap()).collect();
        let ports: BTreeSet<_> = leases.iter().map(PortLease::address).collect();
        assert_eq!(ports.len(), leases.len());
        let error = tokio::net::TcpStream::connect(leases[0].address()).await;
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }

    #[tokio::test]
    async fn its_holder_may_listen_on_it_again_and_again() {
        let lease = PortLease::take().unwrap();
        for _ in 0..3 {
            let listener = listen(lease.address()).unwrap();
            let client = tokio::net::TcpStream::connect(lease.address());
            let (accepted, connected) = tokio::join!(listener.accept(), client);
            assert!(accepted.is_ok() && connected.is_ok());
        }
    }
}
