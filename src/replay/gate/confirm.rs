//! Does the real side show the violation by itself?
//!
//! When all steps agreed, the model's verdict stands already: the same commands
//! met the same replies and led to the same beliefs. This looks once more, at
//! the end, for what a person would look for.

use super::Stop;
use super::report::Confirmation;
use super::run::Run;
use crate::redis::Reply;

impl Run<'_> {
    /// Looks at clients and servers after the last step.
    pub(super) async fn confirm(&mut self) -> Result<Option<Confirmation>, Stop> {
        let Some(property) = self.trace.property.clone() else {
            return Ok(None);
        };
        let mut evidence = Vec::new();
        let (believers, valid) = self.holders(&mut evidence);
        let keys = self.rig.keys().await?;
        for (node, key, pttl_ms) in &keys {
            let life = match pttl_ms {
                -1 => "without an expiry".to_string(),
                ms => format!("for {ms} ms more"),
            };
            evidence.push(format!("node {node} keeps `{key}` {life}"));
        }
        if keys.is_empty() {
            evidence.push("no node keeps a key".to_string());
        }
        let seen = match property.as_str() {
            "mutual-exclusion-belief" => Some(believers > 1),
            "mutual-exclusion-validity" => Some(valid > 1),
            "no-orphan" => Some(!keys.is_empty()),
            "deadlock-freedom" => Some(keys.iter().any(|(_, _, pttl_ms)| *pttl_ms == -1)),
            _ => None,
        };
        let mutual = property.starts_with("mutual-exclusion-");
        if mutual && seen == Some(false) {
            return Err(Stop::diverged(
                "two clients that hold the lock",
                evidence.join("; "),
            ));
        }
        Ok(Some(Confirmation {
            property,
            seen,
            evidence,
        }))
    }

    fn holders(&self, evidence: &mut Vec<String>) -> (usize, usize) {
        let (mut believers, mut valid) = (0, 0);
        for (client, state) in self.clients.iter().enumerate() {
            let Some(view) = state.view.as_ref().filter(|_| !state.crashed) else {
                continue;
            };
            if view.holds == 0 {
                continue;
            }
            // A paused client's clock goes on, and it will hear of it.
            let left_ms = view.validity_left_ms.map(|left| left - state.owed_ms);
            believers += 1;
            valid += usize::from(left_ms.is_none_or(|left| left > 0));
            evidence.push(match left_ms {
                None => format!("client {client} holds the lock and states no validity"),
                Some(ms) => format!("client {client} holds the lock, validly for {ms} ms more"),
            });
        }
        (believers, valid)
    }
}

/// The texts of an array of bulk strings.
pub(super) fn texts(reply: &Reply) -> Vec<String> {
    let Reply::Array(items) = reply else {
        return Vec::new();
    };
    items
        .iter()
        .filter_map(|item| match item {
            Reply::Bulk(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        })
        .collect()
}
