//! Failovers on the real side: a node's two servers, which of them is the node,
//! and who follows whom.

use lockproof_lab::server::Server;

use super::GateError;
use super::replica::{self, Replica};
use super::rig::Rig;

impl Rig {
    /// What the node's server writes from here on does not reach its replica.
    pub(super) async fn leave_behind(&mut self, node: u8) -> Result<(), GateError> {
        let (link, primary, replica) = self.pair(node)?;
        link.lag(primary, replica).await
    }

    /// The node's server dies for good, and its replica takes its place. Clients
    /// find it where they found the other.
    pub(super) async fn fail_over(&mut self, node: u8) -> Result<(), GateError> {
        let (link, primary, replica) = self.pair(node)?;
        link.take_over(primary, replica, true).await?;
        let server = self.second(node);
        self.wires.node_replaced(node, server).await?;
        Ok(())
    }

    /// The node's replica takes its place, and its old server goes on.
    pub(super) async fn split(&mut self, node: u8) -> Result<(), GateError> {
        let asks = self.shape.asks_for_replicas;
        let (link, primary, replica) = self.pair(node)?;
        link.take_over(primary, replica, false).await?;
        link.leave_old(primary, asks).await
    }

    /// The node's server hears no more of its replica.
    pub(super) async fn fall_silent(&mut self, node: u8) -> Result<(), GateError> {
        let (link, ..) = self.pair(node)?;
        link.fall_silent().await
    }

    /// The node's server, or its old one, counts its replica as gone.
    pub(super) async fn give_up(&mut self, node: u8, old: bool) -> Result<(), GateError> {
        if !old {
            let (link, primary, replica) = self.pair(node)?;
            return link.give_up(primary, replica).await;
        }
        let (link, _, old) = self.servers_of(node)?;
        link.leave_alone(old).await
    }

    /// The node's replica is in touch again, with all its data.
    pub(super) async fn regain(&mut self, node: u8) -> Result<(), GateError> {
        let (link, primary, replica) = self.pair(node)?;
        link.follow(primary, replica).await
    }

    /// Nobody reaches the node's server any more, and its replica takes its place.
    /// Commands on their way to it stay where they are held, for ever.
    pub(super) async fn cut_off(&mut self, node: u8) -> Result<(), GateError> {
        self.split(node).await?;
        for client in 0..self.shape.clients {
            self.follow(client, node).await?;
        }
        Ok(())
    }

    /// What the node's replica lagged behind, it gets now, and the node hears of
    /// it, or not.
    pub(super) async fn catch_up(&mut self, node: u8, known: bool) -> Result<(), GateError> {
        let (link, primary, replica) = self.pair(node)?;
        link.stop_lagging(primary, replica, known).await
    }

    /// The node's old server follows the present one, after a new start if it
    /// is dead; what it alone had is lost with that.
    pub(super) async fn rejoin(&mut self, node: u8) -> Result<(), GateError> {
        let at = self.old_place(node)?;
        let old = &mut self.fleet.servers[at];
        if old.pid().is_none() {
            old.restart().await?;
        }
        let (link, primary, replica) = self.servers_of(node)?;
        link.follow(primary, replica).await
    }

    /// The client uses the node's present server from its next command on.
    pub(super) async fn follow(&mut self, client: u8, node: u8) -> Result<(), GateError> {
        let server = self.second(node);
        Ok(self.wires.follow(client, node, server).await?)
    }

    /// The node's old server is nobody's any more. Clients learn of that as they do
    /// from Sentinel, which ends the connections of a server that it demotes (Redis
    /// manual, "Sentinel client spec"). Its data goes when it follows the new one.
    pub(super) async fn end_old(&mut self, node: u8) -> Result<(), GateError> {
        let at = self.old_place(node)?;
        let command = ["CLIENT", "KILL", "TYPE", "normal"];
        replica::expect_ok(&self.fleet.servers[at], &command).await?;
        // Who monitors is a normal client.
        if let Some(listener) = self.listeners.get_mut(at) {
            *listener = None;
        }
        let server = self.second(node);
        self.wires.node_replaced(node, server).await?;
        Ok(())
    }

    /// Connections whose command the node's servers hold back.
    pub(super) async fn blocked_clients(&self, node: u8) -> Result<u64, GateError> {
        let mut blocked = 0;
        let nodes = usize::from(self.shape.nodes);
        for at in (usize::from(node)..self.fleet.servers.len()).step_by(nodes) {
            let server = &self.fleet.servers[at];
            if !self.paused[at] && server.pid().is_some() {
                blocked += replica::blocked_clients(server).await?;
            }
        }
        Ok(blocked)
    }

    /// Which of its servers is the node: its first or its second.
    pub(super) fn second(&self, node: u8) -> usize {
        let link = self.replicas.get(usize::from(node));
        usize::from(link.is_some_and(Replica::swapped))
    }

    /// Where the server is whose place was taken.
    pub(super) fn old_place(&self, node: u8) -> Result<usize, GateError> {
        match self.replicas.get(usize::from(node)) {
            Some(link) if !link.follows() => {
                let first = (1 - self.second(node)) * usize::from(self.shape.nodes);
                Ok(first + usize::from(node))
            }
            _ => Err(GateError::NoReplica { node }),
        }
    }

    /// A node's present server and its replica, while that follows.
    pub(super) fn pair(
        &mut self,
        node: u8,
    ) -> Result<(&mut Replica, &mut Server, &Server), GateError> {
        let trio = self.servers_of(node)?;
        match trio.0.follows() {
            true => Ok(trio),
            false => Err(GateError::NoReplica { node }),
        }
    }

    /// A node's present server and its other one.
    pub(super) fn servers_of(
        &mut self,
        node: u8,
    ) -> Result<(&mut Replica, &mut Server, &Server), GateError> {
        let at = usize::from(node);
        let (first, second) = self.fleet.servers.split_at_mut(self.shape.nodes.into());
        match (
            self.replicas.get_mut(at),
            first.get_mut(at),
            second.get_mut(at),
        ) {
            (Some(link), Some(first), Some(second)) => Ok(match link.swapped() {
                false => (link, first, second),
                true => (link, second, first),
            }),
            _ => Err(GateError::NoReplica { node }),
        }
    }
}
