//! A typed client of toxiproxy's HTTP API.
//!
//! Our own, over a current HTTP library, because the published Rust clients are
//! abandoned and wrong in ways that would make a fault strike elsewhere or not at
//! all: one sends a field name that the server ignores, so that every toxic lands
//! downstream; another takes an error status for success. Here every answer that
//! is not a success is an error, with the server's own words.
//!
//! The library blocks, so each call runs on tokio's blocking threads.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Direction;

/// Why a call to the API failed.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The server refused.
    #[error("toxiproxy refused to {what}: HTTP status {status}: {answer}")]
    Refused {
        /// What was asked.
        what: String,
        /// The HTTP status.
        status: u16,
        /// The body of the answer.
        answer: String,
    },
    /// The server could not be asked.
    #[error("failed to ask toxiproxy to {what}: {source}; does toxiproxy-server still run?")]
    Transport {
        /// What was asked.
        what: String,
        /// The library's own error.
        source: Box<ureq::Error>,
    },
    /// It answers what toxiproxy would not.
    #[error("failed to ask toxiproxy to {what}: {why}; is it a toxiproxy?")]
    Strange {
        /// What was asked.
        what: String,
        /// What is wrong with the answer.
        why: String,
    },
    /// The runtime is shutting down.
    #[error("failed to ask toxiproxy to {what}: the runtime is shutting down")]
    Stopped {
        /// What was asked.
        what: String,
    },
}

/// A disturbance of one direction. Times are in ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", content = "attributes", rename_all = "snake_case")]
pub enum Toxic {
    /// Bytes arrive late. Removing it lets go what waits, at once.
    Latency {
        /// By how much.
        latency: u32,
        /// Plus or minus up to this.
        jitter: u32,
    },
    /// Bytes vanish; the connection ends after `timeout`, or with 0 when the
    /// toxic is removed.
    Timeout {
        /// How long the connection lives.
        timeout: u32,
    },
    /// The first bytes end the connection after `timeout`.
    ResetPeer {
        /// After how long.
        timeout: u32,
    },
    /// Bytes trickle.
    Bandwidth {
        /// In kB a second.
        rate: u32,
    },
    /// The connection ends after so many bytes.
    LimitData {
        /// How many.
        bytes: u64,
    },
    /// The end of the connection arrives late.
    SlowClose {
        /// By how much.
        delay: u32,
    },
}

/// The API of one toxiproxy server.
#[derive(Clone, Debug)]
pub struct Api {
    base: String,
    agent: ureq::Agent,
}

enum Method {
    Get,
    Post(Value),
    Delete,
}

impl Api {
    /// The API at this host and port.
    pub fn new(host: &str) -> Api {
        let config = ureq::Agent::config_builder()
            // An HTTP proxy of the environment is not on the way to loopback.
            .proxy(None)
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(10)))
            .build();
        Api {
            base: format!("http://{host}"),
            agent: config.into(),
        }
    }

    /// The server's version, in its own words.
    pub async fn version(&self) -> Result<String, ApiError> {
        self.call("tell its version", Method::Get, "/version".into())
            .await
    }

    /// All proxies by name, with what they lead to.
    pub async fn proxies(&self) -> Result<BTreeMap<String, String>, ApiError> {
        #[derive(Deserialize)]
        struct Listed {
            upstream: String,
        }
        let what = "list its proxies";
        let text = self.call(what, Method::Get, "/proxies".into()).await?;
        let listed: BTreeMap<String, Listed> =
            serde_json::from_str(&text).map_err(|error| ApiError::Strange {
                what: what.into(),
                why: error.to_string(),
            })?;
        let pairs = listed.into_iter();
        Ok(pairs.map(|(name, proxy)| (name, proxy.upstream)).collect())
    }

    /// Makes a proxy that is switched off and so listens nowhere: its name and its
    /// upstream are a note for whoever lists the proxies later.
    pub async fn note(&self, name: &str, text: &str) -> Result<(), ApiError> {
        let proxy = json!({
            "name": name, "listen": "127.0.0.1:0", "upstream": text, "enabled": false,
        });
        let what = format!("create proxy {name}");
        self.call(&what, Method::Post(proxy), "/proxies".into())
            .await
            .map(drop)
    }

    /// Makes a proxy that listens on `listen`.
    pub async fn create(&self, name: &str, listen: &str, upstream: &str) -> Result<(), ApiError> {
        let proxy = json!({
            "name": name, "listen": listen, "upstream": upstream, "enabled": true,
        });
        let what = format!("create proxy {name}");
        self.call(&what, Method::Post(proxy), "/proxies".into())
            .await
            .map(drop)
    }

    /// Takes a proxy away; its connections end.
    pub async fn delete(&self, name: &str) -> Result<(), ApiError> {
        let what = format!("delete proxy {name}");
        self.call(&what, Method::Delete, format!("/proxies/{name}"))
            .await
            .map(drop)
    }

    /// Opens a proxy, or closes it: its connections end, and new ones are refused.
    pub async fn enable(&self, name: &str, enabled: bool) -> Result<(), ApiError> {
        let what = format!("set enabled = {enabled} on proxy {name}");
        let change = Method::Post(json!({ "enabled": enabled }));
        self.call(&what, change, format!("/proxies/{name}"))
            .await
            .map(drop)
    }

    /// Adds a toxic. A `toxicity` of 0 to 100 percent of the connections made
    /// while it is there are subject to it.
    pub async fn add_toxic(
        &self,
        proxy: &str,
        name: &str,
        direction: Direction,
        toxic: Toxic,
        toxicity_percent: u8,
    ) -> Result<(), ApiError> {
        let mut body = json!(toxic);
        body["name"] = json!(name);
        body["stream"] = json!(match direction {
            Direction::ToServer => "upstream",
            Direction::ToClient => "downstream",
        });
        body["toxicity"] = json!(f64::from(toxicity_percent.min(100)) / 100.0);
        let what = format!("add toxic {name} to proxy {proxy}");
        self.call(
            &what,
            Method::Post(body),
            format!("/proxies/{proxy}/toxics"),
        )
        .await
        .map(drop)
    }

    /// Takes a toxic away.
    pub async fn remove_toxic(&self, proxy: &str, name: &str) -> Result<(), ApiError> {
        let what = format!("remove toxic {name} from proxy {proxy}");
        let path = format!("/proxies/{proxy}/toxics/{name}");
        self.call(&what, Method::Delete, path).await.map(drop)
    }

    async fn call(&self, what: &str, method: Method, path: String) -> Result<String, ApiError> {
        let (agent, url, owned) = (
            self.agent.clone(),
            format!("{}{path}", self.base),
            what.to_owned(),
        );
        tokio::task::spawn_blocking(move || exchange(&agent, &url, method, owned))
            .await
            .map_err(|_| ApiError::Stopped { what: what.into() })?
    }
}

fn exchange(
    agent: &ureq::Agent,
    url: &str,
    method: Method,
    what: String,
) -> Result<String, ApiError> {
    let answer = match method {
        Method::Get => agent.get(url).call(),
        Method::Post(body) => agent.post(url).send_json(body),
        Method::Delete => agent.delete(url).call(),
    };
    let read = answer.and_then(|mut response| {
        let text = response.body_mut().read_to_string()?;
        Ok((response.status(), text))
    });
    match read {
        Ok((status, text)) if status.is_success() => Ok(text),
        Ok((status, text)) => Err(ApiError::Refused {
            what,
            status: status.as_u16(),
            answer: text.trim().to_owned(),
        }),
        Err(source) => Err(ApiError::Transport {
            what,
            source: Box::new(source),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toxic_is_spelt_as_the_api_wants_it() {
        let spelt = serde_json::to_string(&Toxic::ResetPeer { timeout: 5 }).unwrap();
        assert_eq!(spelt, r#"{"type":"reset_peer","attributes":{"timeout":5}}"#);
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_an_error() {
        let lease = super::super::super::server::port::PortLease::take().unwrap();
        let api = Api::new(&lease.address().to_string());
        let error = api.version().await.unwrap_err().to_string();
        assert!(error.contains("does toxiproxy-server still run"), "{error}");
    }
}
