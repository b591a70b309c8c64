//! Faults of a trace, made real.

use lockproof_lab::client::protocol::ToClient;
use lockproof_trace::{FaultEvent, Way, words};

use super::compare::command_text;
use super::messages::{Fate, Stage};
use super::replica::expect_ok;
use super::report::RealSide;
use super::rig::{Kept, LogBytes};
use super::run::{ClientState, Replay};
use super::{GateError, Stop};

impl Replay<'_> {
    pub(super) async fn fault(&mut self, fault: &FaultEvent) -> Result<(), Stop> {
        let text = serde_json::to_string(fault).unwrap_or_else(|e| e.to_string());
        self.note("did", format!("fault {text}"));
        if let Some(deed) = self.rig.deed(fault) {
            self.really(RealSide::Done(deed));
        }
        match fault {
            FaultEvent::ClientCrash { client } => {
                self.rig.client(*client)?.kill();
                self.rig.forget_client(*client);
                self.state(*client)?.crashed = true;
                self.watch_call(*client, "")?;
                self.stop_listening(*client).await?;
                // What it had not sent, it never sends.
                self.doom(Fate::Vanishes, |key, message| {
                    key.0 == *client && message.held
                });
                Ok(())
            }
            FaultEvent::ClientRestart { client } => self.restart_client(*client).await,
            FaultEvent::ClientPause { client, held } => {
                self.rig.client(*client)?.pause()?;
                self.state(*client)?.paused = true;
                self.hold_back(*client, held);
                Ok(())
            }
            FaultEvent::ClientResume { client } => self.resume(*client).await,
            FaultEvent::Lose {
                client,
                node,
                message,
                reply,
            } => self.lose((*client, *node, *message), *reply).await,
            FaultEvent::NodeRestart {
                node,
                persistence,
                loses,
            } => self.restart(*node, persistence, *loses).await,
            FaultEvent::NodeDown {
                node,
                persistence,
                loses,
            } => {
                let keep = self.kept(*node, persistence, *loses)?;
                self.rig.end_server(*node, keep).await?;
                Ok(self
                    .rig
                    .wires
                    .node_gone(*node)
                    .await
                    .map_err(GateError::from)?)
            }
            FaultEvent::NodeUp { node } => self.come_back(*node).await,
            FaultEvent::NodeFsync { node } => self.note_synced(Some(*node)).await,
            FaultEvent::NodeFlush { node } => {
                let at = self.rig.place(*node)?;
                expect_ok(&self.rig.fleet.servers[at], &["FLUSHALL"]).await?;
                self.look_again(*node, None).await
            }
            FaultEvent::NodePause { node } => Ok(self.rig.pause_server(*node)?),
            FaultEvent::NodeResume { node } => Ok(self.rig.resume_server(*node).await?),
            FaultEvent::Cancel { client } => {
                let id = self.rig.client(*client)?.fresh_id();
                let target = self.state(*client)?.call;
                self.watch_failure(*client);
                self.input(*client, ToClient::Cancel { id, target }).await
            }
            FaultEvent::ClientSkew { client, offset_ms } => {
                let id = self.rig.client(*client)?.fresh_id();
                let state = self.state(*client)?;
                // A trace says where the clock stands, a client how far it moves.
                let ms = offset_ms - state.offset_ms;
                state.offset_ms = *offset_ms;
                self.skew_telling(*client, ms);
                self.input(*client, ToClient::Skew { id, ms }).await
            }
            FaultEvent::ClientDrift { client, ticks } => {
                self.state(*client)?.drift = Some(*ticks);
                Ok(())
            }
            FaultEvent::ClockJump { node, offset_ms } => {
                Ok(self.rig.jump_server(*node, *offset_ms).await?)
            }
            FaultEvent::ReplicaLags { node } => Ok(self.rig.leave_behind(*node).await?),
            FaultEvent::Failover { node, lost } => {
                self.doom_at(*node, false)?;
                self.rig.fail_over(*node).await?;
                self.promoted(*node, *lost).await
            }
            FaultEvent::ReplicaCatchesUp {
                node,
                lacks: 0,
                known,
            } => Ok(self.rig.catch_up(*node, *known).await?),
            FaultEvent::ReplicaCatchesUp { lacks, .. } => Err(Stop::NotReplayable(format!(
                "a replica gets what it lagged behind, but for {lacks} of it; a replication link \
                 passes all or nothing here"
            ))),
            FaultEvent::CutOff { node, lost } => {
                self.doom(Fate::Vanishes, |key, _| key.1 == *node);
                self.rig.cut_off(*node).await?;
                self.promoted(*node, *lost).await
            }
            FaultEvent::Rejoin { node } => {
                self.rig.rejoin(*node).await?;
                self.note_synced(Some(*node)).await
            }
            FaultEvent::SplitBrain { node, lost } => {
                self.rig.split(*node).await?;
                let clients = 0..self.trace.setup.clients;
                self.unnoticed.extend(clients.map(|client| (client, *node)));
                self.promoted(*node, *lost).await
            }
            FaultEvent::ReplicaSilent { node } => Ok(self.rig.fall_silent(*node).await?),
            FaultEvent::ReplicaGone { node, old } => Ok(self.rig.give_up(*node, *old).await?),
            FaultEvent::ReplicaBack { node } => Ok(self.rig.regain(*node).await?),
            FaultEvent::ClientNotices { client, node } => {
                self.unnoticed.remove(&(*client, *node));
                Ok(self.rig.follow(*client, *node).await?)
            }
            FaultEvent::Demotion { node } => self.demote(*node).await,
            // A delay is nothing but holding on, and so is a cut link: what is
            // sent on it is held for ever, which a client cannot tell from
            // lost. An overrun is what the driver does not do in time.
            // What is lost of replies, and of requests that are on their way, the trace
            // says itself.
            FaultEvent::LinkCut {
                client,
                node,
                only: Some(Way::Replies),
            } => {
                self.mute.insert((*client, *node));
                Ok(())
            }
            FaultEvent::LinkCut {
                client,
                node,
                only: Some(Way::Requests),
            } => {
                self.cut.insert((*client, *node));
                Ok(())
            }
            FaultEvent::LinkCut {
                client,
                node,
                only: None,
            } => {
                self.cut.insert((*client, *node));
                self.mute.insert((*client, *node));
                self.swallow_messages((*client, *node));
                self.doom(Fate::Vanishes, |key, message| {
                    // What its server holds back stays there.
                    let blocked = matches!(message.stage, Stage::Blocked(_));
                    (key.0, key.1) == (*client, *node) && !message.held && !blocked
                });
                Ok(())
            }
            FaultEvent::LinkHeal { client, node } => {
                self.cut.remove(&(*client, *node));
                self.mute.remove(&(*client, *node));
                self.hears_again((*client, *node)).await
            }
            FaultEvent::Delay { .. } | FaultEvent::Overrun { .. } => Ok(()),
        }
    }

    /// The client's process dies, if it has not before, and another one takes its place.
    /// What was sent arrives; nobody reads the replies.
    async fn restart_client(&mut self, client: u8) -> Result<(), Stop> {
        let mut offset_ms = 0;
        if !self.state(client)?.crashed {
            self.rig.client(client)?.kill();
            self.rig.forget_client(client);
            offset_ms = self.state(client)?.offset_ms;
        }
        self.stop_listening(client).await?;
        self.doom(Fate::Vanishes, |key, message| {
            let lost = message.held || matches!(message.stage, Stage::Reply(_));
            key.0 == client && lost
        });
        let own = self.messages.iter_mut().filter(|(key, _)| key.0 == client);
        own.for_each(|(_, message)| message.awaited = false);
        self.watch_call(client, "")?;
        let setup = &self.trace.setup;
        let ticks = i64::from(self.trace.steps[self.at].tick);
        let now_ms = setup.epoch_ms + ticks * setup.tick_ms + offset_ms;
        self.rig.replace_client(client, self.trace, now_ms).await?;
        *self.state(client)? = ClientState {
            offset_ms,
            ..ClientState::new()
        };
        Ok(())
    }

    /// Requests that a client was about to send. Its process has written their bytes,
    /// and the proxy keeps them; no server has seen one.
    fn hold_back(&mut self, client: u8, held: &[u32]) {
        let mut told = Vec::new();
        for (key, message) in &mut self.messages {
            if key.0 != client || !held.contains(&key.2) {
                continue;
            }
            message.held = true;
            let argv = match &message.stage {
                Stage::Request(request) => &request.argv,
                Stage::Unsent(argv) => argv,
                _ => continue,
            };
            told.push(format!(
                "{client} is paused before it sends {} to {}: its bytes are held \
                 back until it goes on",
                command_text(argv),
                words::node(key.1),
                client = words::client(client)
            ));
        }
        told.into_iter().for_each(|what| self.watch_held_back(what));
    }

    /// The connections to a node's server, or to its old one, break.
    fn doom_at(&mut self, node: u8, old: bool) -> Result<(), Stop> {
        let server = match old {
            true => self.rig.old_place(node)?,
            false => self.rig.place(node)?,
        };
        self.doom(Fate::Breaks, |key, message| {
            key.1 == node && message.server == server && message.fate == Fate::Arrives
        });
        Ok(())
    }

    /// The node's old server is taken away.
    pub(super) async fn demote(&mut self, node: u8) -> Result<(), Stop> {
        self.doom_at(node, true)?;
        self.unnoticed.retain(|(_, split)| *split != node);
        Ok(self.rig.end_old(node).await?)
    }

    /// The node's replica has taken its place, without so many last writes.
    async fn promoted(&mut self, node: u8, lost: u8) -> Result<(), Stop> {
        self.use_replicas_log(node);
        let (versions, _) = self.versions_of(node);
        let had = versions.saturating_sub(usize::from(lost));
        self.look_again(node, Some(had)).await
    }

    pub(super) async fn resume(&mut self, client: u8) -> Result<(), Stop> {
        self.rig.client(client)?.resume()?;
        let cut = self.cut.clone();
        self.doom(Fate::Vanishes, |key, message| {
            key.0 == client && message.held && cut.contains(&(client, key.1))
        });
        let own = self.messages.iter_mut().filter(|(key, _)| key.0 == client);
        own.for_each(|(_, message)| message.held = false);
        self.send_what_was_held_back(client).await?;
        let state = self.state(client)?;
        state.paused = false;
        let owed_ms = std::mem::take(&mut state.owed_ms);
        self.advance(client, owed_ms).await
    }

    /// A trace may mix policies. A server that keeps a log can act as one that
    /// keeps none or less, for what it keeps is a matter of its files.
    async fn restart(&mut self, node: u8, persistence: &str, loses: bool) -> Result<(), Stop> {
        let keep = self.kept(node, persistence, loses)?;
        self.rig.end_server(node, keep).await?;
        self.raise(node).await
    }

    /// A server that was gone for a while is there again.
    pub(super) async fn come_back(&mut self, node: u8) -> Result<(), Stop> {
        self.raise(node).await?;
        let replaced = self.rig.wires.node_replaced(node, 0).await;
        Ok(replaced.map_err(GateError::from)?)
    }

    /// A server that was killed starts again.
    async fn raise(&mut self, node: u8) -> Result<(), Stop> {
        self.rig.raise_server(node).await?;
        // What a server has read back from its log is on the disk.
        self.note_synced(Some(node)).await
    }

    fn kept(&self, node: u8, persistence: &str, loses: bool) -> Result<Kept, Stop> {
        Ok(match (persistence, self.rig.keeps_log()) {
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
        })
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
                self.watch_synced(at);
            }
        }
        Ok(())
    }
}
