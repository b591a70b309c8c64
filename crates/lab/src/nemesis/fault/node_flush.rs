//! All keys of a server are deleted (FLUSHALL): an operator clears what was thought to be
//! a cache, or a server that is short of memory evicts all that it has.

use lockproof_redis::Reply;
use serde_json::json;

use crate::nemesis::target::{Target, names, resolve};
use crate::nemesis::{Field, Injection, NemesisError, Struck};

/// Keys are deleted, for good.
#[derive(Clone, Debug)]
pub struct NodeFlush {
    servers: Vec<Target>,
}

impl NodeFlush {
    /// Those of these servers; a replica's are its primary's.
    pub fn new(servers: &[Target]) -> NodeFlush {
        NodeFlush {
            servers: servers.to_vec(),
        }
    }
}

impl Injection for NodeFlush {
    fn start<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            let mut flushed = Vec::new();
            let mut refusal = "no server is there".to_owned();
            for party in resolve(&self.servers, field).await? {
                match field.topology.server(party)?.command(&["FLUSHALL"]).await? {
                    Reply::Error(text) => refusal = format!("{party} says {text}"),
                    _ => flushed.push(party),
                }
            }
            match flushed.is_empty() {
                true => Err(NemesisError::NotApplicable {
                    fault: "node-flush",
                    why: refusal,
                }),
                false => Ok(json!({ "servers": names(&flushed) })),
            }
        })
    }

    fn heal<'a>(&'a mut self, _field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async { Ok(json!({})) })
    }
}
