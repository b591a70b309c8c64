//! Sentinels: their configuration, and what they know.
//!
//! Each Sentinel is told from the start of all replicas and of all others, by
//! addresses and ids of ours. Left to themselves they find each other by messages
//! that they publish every two seconds, and a failover before that is none.
//!
//! The address that they monitor is the door of node 0. Given the server's own
//! port, Sentinel would find the announced one in INFO ten seconds later, take it
//! for another server and move its clients in the middle of a run.

use std::collections::BTreeMap;
use std::fmt::Write;

use lockproof_redis::Reply;

use super::Topology;
use super::error::TopologyError;
use super::role::{address, fields};

/// The name under which Sentinels know the group.
pub const SENTINEL_GROUP: &str = "lockproof";

/// What one Sentinel is told.
pub(super) struct SentinelPlan<'a> {
    pub number: u16,
    /// The ports of the nodes' doors; the first is the primary's.
    pub nodes: &'a [u16],
    /// The ports of the Sentinels' doors.
    pub sentinels: &'a [u16],
    pub down_after_ms: u32,
}

impl SentinelPlan<'_> {
    /// Its configuration file.
    pub fn config(&self) -> String {
        let group = SENTINEL_GROUP;
        let quorum = self.sentinels.len() / 2 + 1;
        let primary = self.nodes.first().copied().unwrap_or_default();
        let mut text = format!("sentinel myid {}\n", id(self.number));
        let mut line = |rest: String| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "sentinel {rest}");
        };
        let number = usize::from(self.number);
        let own = self.sentinels.get(number).copied().unwrap_or_default();
        line("announce-ip 127.0.0.1".into());
        line(format!("announce-port {own}"));
        line(format!("monitor {group} 127.0.0.1 {primary} {quorum}"));
        line(format!(
            "down-after-milliseconds {group} {}",
            self.down_after_ms
        ));
        // After a failed attempt another starts only twice this time later.
        let failover_ms = self.down_after_ms.saturating_mul(6);
        line(format!("failover-timeout {group} {failover_ms}"));
        for port in self.nodes.iter().skip(1) {
            line(format!("known-replica {group} 127.0.0.1 {port}"));
        }
        for (other, port) in (0..).zip(self.sentinels) {
            if other != self.number {
                line(format!(
                    "known-sentinel {group} 127.0.0.1 {port} {}",
                    id(other)
                ));
            }
        }
        text
    }
}

/// A Sentinel's id: any 40 hexadecimal digits.
fn id(number: u16) -> String {
    format!("{:040x}", 0x10c0 + u64::from(number))
}

impl Topology {
    /// The name under which the Sentinels know the primary.
    pub fn sentinel_group(&self) -> &str {
        let attached = self.options().attach.as_ref();
        attached.map_or(SENTINEL_GROUP, |attached| &attached.sentinel_group)
    }

    /// The primary on which more than half of the Sentinels agree.
    pub(super) async fn sentinels_primary(&self) -> Result<u16, TopologyError> {
        let command = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.sentinel_group()];
        let mut votes = BTreeMap::new();
        for answer in self.ask_all(self.sentinels(), &command).await {
            if let Some(address) = answer.1.as_ref().and_then(address) {
                *votes.entry(address).or_insert(0_usize) += 1;
            }
        }
        let all = usize::from(self.kind().sentinels());
        let unknown = || TopologyError::NoPrimary(format!("the Sentinels say {votes:?}"));
        let (address, _) = votes
            .iter()
            .find(|(_, count)| **count * 2 > all)
            .ok_or_else(unknown)?;
        self.node_announced_at(address).ok_or_else(unknown)
    }

    /// What Sentinels still lack before they could do a failover.
    pub(super) async fn sentinels_missing(&self) -> Option<String> {
        let kind = self.kind();
        let others = [
            ("REPLICAS", usize::from(kind.nodes()) - 1),
            ("SENTINELS", usize::from(kind.sentinels()).saturating_sub(1)),
        ];
        for (what, count) in others {
            let command = ["SENTINEL", what, self.sentinel_group()];
            for (party, answer) in self.ask_all(self.sentinels(), &command).await {
                let known = match &answer {
                    Some(Reply::Array(entries)) => entries.iter().filter(|e| is_sound(e)).count(),
                    _ => 0,
                };
                if known != count {
                    return Some(format!("{party} reaches {known} of {count} {what}"));
                }
            }
        }
        let command = ["SENTINEL", "CKQUORUM", self.sentinel_group()];
        let answers = self.ask_all(self.sentinels(), &command).await;
        answers
            .into_iter()
            .find(|(_, answer)| !matches!(answer, Some(Reply::Status(_))))
            .map(|(party, answer)| format!("{party} sees no quorum: {answer:?}"))
    }
}

/// True for an entry that is connected and, if it is a replica, follows a primary.
fn is_sound(entry: &Reply) -> bool {
    let fields = fields(entry);
    // Not "master_down": that is what another Sentinel said last of the primary.
    let sound = |flags: &String| {
        let mut flags = flags.split(',');
        !flags.any(|flag| ["disconnected", "s_down", "o_down"].contains(&flag))
    };
    fields.get("flags").is_some_and(sound)
        && fields
            .get("master-link-status")
            .is_none_or(|status| status == "ok")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentinel_is_told_of_everybody_but_itself() {
        let plan = SentinelPlan {
            number: 1,
            nodes: &[7000, 7001],
            sentinels: &[8000, 8001, 8002],
            down_after_ms: 500,
        };
        let config = plan.config();
        assert!(config.contains("monitor lockproof 127.0.0.1 7000 2\n"));
        assert!(config.contains("known-replica lockproof 127.0.0.1 7001\n"));
        assert!(config.contains("announce-port 8001\n"));
        assert_eq!(config.matches("known-sentinel").count(), 2);
        assert!(!config.contains("known-sentinel lockproof 127.0.0.1 8001"));
    }
}
