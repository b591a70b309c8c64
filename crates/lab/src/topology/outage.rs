//! Servers that faults have stopped or killed, and how many faults want it.
//!
//! Two faults may strike one server, and each heals only what it did: a server goes
//! on when the last fault that stops it is over, and starts again when the last one
//! that wants it dead is. One that starts while another fault still wants it to
//! stand still answers for a moment, until it is known to be up, and is stopped
//! then. (To leave it dead until then was rejected: a restart would come back
//! long after its fault is told to be over.)
//!
//! An order to a server that does not answer would hang, and with it the schedule.
//! So one that is to follow another primary meanwhile is told when it answers again.

use super::{Party, Topology, TopologyError};

/// What faults want of one server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outage {
    /// How many want it to stand still.
    paused: u32,
    /// How many want it dead.
    dead: u32,
    /// It is to follow the primary as soon as it answers.
    astray: bool,
}

impl Topology {
    /// Stops a server (SIGSTOP) until as many calls of [`Topology::resume_server`]
    /// have followed. One that is dead is stopped when it comes back.
    ///
    /// # Errors
    /// As [`Topology::server`], or if it does not stop; then it is to be resumed
    /// all the same.
    pub fn pause_server(&mut self, party: Party) -> Result<(), TopologyError> {
        self.server(party)?;
        self.outages.entry(party).or_default().paused += 1;
        Ok(self.server(party)?.pause()?)
    }

    /// Takes back one [`Topology::pause_server`]; does nothing if there is none.
    ///
    /// # Errors
    /// If the server cannot go on; the call is then to be made again.
    pub async fn resume_server(&mut self, party: Party) -> Result<(), TopologyError> {
        let Some(outage) = self.outages.get(&party).filter(|outage| outage.paused > 0) else {
            return Ok(());
        };
        if outage.paused == 1 && outage.dead == 0 {
            self.server(party)?.resume()?;
            self.lead_back(party).await?;
        }
        self.outages.entry(party).or_default().paused -= 1;
        Ok(())
    }

    /// Kills a server (SIGKILL) until as many calls of [`Topology::revive_server`]
    /// have followed.
    ///
    /// # Errors
    /// As [`Topology::server`], or if it cannot be killed; then it is to be revived
    /// all the same.
    pub fn kill_server(&mut self, party: Party) -> Result<(), TopologyError> {
        self.server(party)?;
        self.outages.entry(party).or_default().dead += 1;
        Ok(self.server_mut(party)?.kill()?)
    }

    /// Takes back one [`Topology::kill_server`]; does nothing if there is none. The
    /// last one starts the server and waits until it answers.
    ///
    /// # Errors
    /// If the server does not start; the call is then to be made again.
    pub async fn revive_server(&mut self, party: Party) -> Result<(), TopologyError> {
        let Some(outage) = self.outages.get(&party).filter(|outage| outage.dead > 0) else {
            return Ok(());
        };
        if outage.dead == 1 {
            let still_paused = outage.paused > 0;
            self.server_mut(party)?.restart().await?;
            match still_paused {
                true => self.server(party)?.pause()?,
                false => self.lead_back(party).await?,
            }
        }
        self.outages.entry(party).or_default().dead -= 1;
        Ok(())
    }

    /// Makes a node follow the primary: `primary`, or whoever is it when the node
    /// answers again, if a fault keeps it from that now.
    pub(in super::super) async fn follow_when_up(
        &mut self,
        node: u16,
        primary: u16,
    ) -> Result<(), TopologyError> {
        match self.outages.get_mut(&Party::Node(node)) {
            Some(outage) if outage.paused + outage.dead > 0 => {
                outage.astray = true;
                Ok(())
            }
            _ => self.set_primary_of(node, Some(primary)).await,
        }
    }

    /// Tells a server that answers again whom to follow, if it missed that.
    async fn lead_back(&mut self, party: Party) -> Result<(), TopologyError> {
        let astray = self.outages.get(&party).is_some_and(|outage| outage.astray);
        if let (true, Party::Node(node)) = (astray, party) {
            let primary = self.primary().await?;
            if primary != node {
                self.set_primary_of(node, Some(primary)).await?;
            }
            self.outages.entry(party).or_default().astray = false;
        }
        Ok(())
    }
}
