//! What a fault of a trace does to real processes, in words.

use lockproof_lab::server::Server;
use lockproof_trace::FaultEvent;

use super::rig::Rig;

impl Rig {
    /// What is about to be done to which process, for a fault that strikes one; nothing for
    /// those that are a matter of the proxies alone.
    pub(super) fn deed(&mut self, fault: &FaultEvent) -> Option<String> {
        match fault {
            FaultEvent::ClientCrash { client } => self.strike_client("SIGKILL", *client),
            FaultEvent::ClientRestart { client } => {
                let killed = self.strike_client("SIGKILL", *client);
                let killed = killed.map(|killed| format!("{killed}, and "));
                Some(format!("{}a new process", killed.unwrap_or_default()))
            }
            FaultEvent::ClientPause { client, .. } => self.strike_client("SIGSTOP", *client),
            FaultEvent::ClientResume { client } => self.strike_client("SIGCONT", *client),
            FaultEvent::NodeRestart { node, .. } => {
                let killed = self.strike_server("SIGKILL", *node)?;
                Some(format!("{killed}, and started again"))
            }
            FaultEvent::NodeDown { node, .. } => self.strike_server("SIGKILL", *node),
            FaultEvent::NodeUp { .. } => Some("started again".to_owned()),
            FaultEvent::NodePause { node } => self.strike_server("SIGSTOP", *node),
            FaultEvent::NodeResume { node } => self.strike_server("SIGCONT", *node),
            FaultEvent::NodeFlush { .. } => Some("FLUSHALL".to_owned()),
            FaultEvent::ClockJump { node, offset_ms } => {
                let pid = self.server_pid(*node)?;
                Some(format!(
                    "the clock of process {pid} moves by {offset_ms} ms"
                ))
            }
            FaultEvent::Failover { node, .. } => {
                let killed = self.strike_server("SIGKILL", *node)?;
                Some(format!("{killed}, and its replica is promoted"))
            }
            FaultEvent::SplitBrain { .. } | FaultEvent::CutOff { .. } => {
                Some("its replica is promoted, and it goes on".to_owned())
            }
            _ => None,
        }
    }

    fn strike_client(&mut self, signal: &str, client: u8) -> Option<String> {
        let pid = self.client(client).ok()?.pid();
        Some(format!("{signal} to process {pid}"))
    }

    fn strike_server(&self, signal: &str, node: u8) -> Option<String> {
        Some(format!("{signal} to process {}", self.server_pid(node)?))
    }

    fn server_pid(&self, node: u8) -> Option<u32> {
        let at = self.place(node).ok()?;
        self.fleet.servers.get(at).and_then(Server::pid)
    }
}
