//! Faults of a trace, made real.

use super::Stop;
use super::rig::{Kept, LogBytes};
use super::run::Run;
use crate::replay::protocol::ToClient;
use crate::trace::Fault;

impl Run<'_> {
    pub(super) async fn fault(&mut self, fault: &Fault) -> Result<(), Stop> {
        let text = serde_json::to_string(fault).unwrap_or_else(|e| e.to_string());
        self.note("did", format!("fault {text}"));
        match fault {
            Fault::ClientCrash { client } => {
                self.rig.client(*client)?.kill();
                self.rig.forget_client(*client);
                self.state(*client)?.crashed = true;
                Ok(())
            }
            Fault::ClientPause { client } => {
                self.rig.client(*client)?.pause()?;
                self.state(*client)?.paused = true;
                Ok(())
            }
            Fault::ClientResume { client } => self.resume(*client).await,
            Fault::Lose {
                client,
                node,
                message,
                reply,
            } => self.lose((*client, *node, *message), *reply).await,
            Fault::NodeRestart {
                node,
                persistence,
                loses,
            } => self.restart(*node, persistence, *loses).await,
            Fault::NodeFsync { node } => self.note_synced(Some(*node)).await,
            Fault::NodePause { node } => Ok(self.rig.pause_server(*node)?),
            Fault::NodeResume { node } => Ok(self.rig.resume_server(*node).await?),
            Fault::ClientSkew { client, offset_ms } => {
                let id = self.rig.client(*client)?.fresh_id();
                let state = self.state(*client)?;
                // A trace says where the clock stands, a client how far it moves.
                let ms = offset_ms - state.offset_ms;
                state.offset_ms = *offset_ms;
                self.input(*client, ToClient::Skew { id, ms }).await
            }
            Fault::ClientDrift { client, ticks } => {
                self.state(*client)?.drift = Some(*ticks);
                Ok(())
            }
            Fault::ClockJump { node, offset_ms } => {
                Ok(self.rig.jump_server(*node, *offset_ms).await?)
            }
            Fault::ReplicaLags { node } => Ok(self.rig.leave_behind(*node).await?),
            Fault::Failover { node, .. } => {
                self.rig.fail_over(*node).await?;
                self.use_replicas_log(*node);
                Ok(())
            }
            Fault::ReplicaCatchesUp {
                node,
                lacks: 0,
                known,
            } => Ok(self.rig.catch_up(*node, *known).await?),
            Fault::ReplicaCatchesUp { lacks, .. } => Err(Stop::NotReplayable(format!(
                "a replica gets what it lagged behind, but for {lacks} of it; a replication link \
                 passes all or nothing here"
            ))),
            Fault::CutOff { node, .. } => {
                self.rig.cut_off(*node).await?;
                self.use_replicas_log(*node);
                Ok(())
            }
            Fault::Rejoin { node } => {
                self.rig.rejoin(*node).await?;
                self.note_synced(Some(*node)).await
            }
            Fault::SplitBrain { node, .. } => {
                self.rig.split(*node).await?;
                self.use_replicas_log(*node);
                Ok(())
            }
            Fault::ReplicaSilent { node } => Ok(self.rig.fall_silent(*node).await?),
            Fault::ReplicaGone { node, old } => Ok(self.rig.give_up(*node, *old).await?),
            Fault::ReplicaBack { node } => Ok(self.rig.regain(*node).await?),
            Fault::ClientNotices { client, node } => Ok(self.rig.follow(*client, *node).await?),
            Fault::Demotion { node } => Ok(self.rig.end_old(*node).await?),
            // A delay is nothing but holding on, and so is a cut link: what is
            // sent on it is held for ever, which a client cannot tell from
            // lost. An overrun is what the driver does not do in time.
            Fault::Delay { .. }
            | Fault::LinkCut { .. }
            | Fault::LinkHeal { .. }
            | Fault::Overrun { .. } => Ok(()),
        }
    }

    async fn resume(&mut self, client: u8) -> Result<(), Stop> {
        self.rig.client(client)?.resume()?;
        let state = self.state(client)?;
        state.paused = false;
        let owed_ms = std::mem::take(&mut state.owed_ms);
        self.advance(client, owed_ms).await
    }

    /// A trace may mix policies. A server that keeps a log can act as one that
    /// keeps none or less, for what it keeps is a matter of its files.
    async fn restart(&mut self, node: u8, persistence: &str, loses: bool) -> Result<(), Stop> {
        let keep = match (persistence, self.rig.keeps_log()) {
            ("none", _) => Kept::Nothing,
            (_, false) => {
                return Err(Stop::NotReplayable(format!(
                    "a node restarts with persistence {persistence}, and the setup says that \
                     nodes keep nothing"
                )));
            }
            (_, true) if loses => {
                let synced = self.synced.get(usize::from(node));
                Kept::Bytes(synced.map_or(0, |synced| synced.node))
            }
            (_, true) => Kept::All,
        };
        self.rig.restart_server(node, keep).await?;
        // What a server has read back from its log is on the disk.
        self.note_synced(Some(node)).await
    }

    /// What is on the disk of the node is what was on its replica's.
    fn use_replicas_log(&mut self, node: u8) {
        if let Some(synced) = self.synced.get_mut(usize::from(node)) {
            synced.node = synced.replica;
        }
    }

    /// Notes how much of a node's log (or of every node's) is on the disk now,
    /// and as much of its replica's.
    pub(super) async fn note_synced(&mut self, node: Option<u8>) -> Result<(), Stop> {
        let nodes = self.trace.setup.nodes;
        self.synced.resize(usize::from(nodes), LogBytes::default());
        for at in 0..nodes {
            if node.is_none_or(|node| node == at) {
                self.synced[usize::from(at)] = self.rig.log_bytes(at).await?;
            }
        }
        Ok(())
    }
}
