//! The keys of a run on attached servers, and how they go.
//!
//! A lock names its keys as it likes around the one that it is given (`{key}:lock`,
//! `redisson_lock__channel:{key}`), so they are found by the drawn name that they have
//! in them, in every database. Each is deleted by its own name. A key without the
//! drawn name is somebody else's, also if the lock made it: it is told and stays.

use std::time::Duration;

use lockproof_redis::Reply;
use tokio::time::{Instant, sleep};

use super::super::error::TopologyError;
use super::super::names::Party;
use super::super::role::text;
use super::super::{Seat, Topology};
use super::drawn::Drawn;
use super::survey::{self, Asker};

/// How many keys a server looks at in one turn.
const TURN: &str = "1000";
/// How long replicas may take to hear that keys are gone.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many foreign keys are named.
const NAMED: usize = 5;

impl Topology {
    /// The names of the lock's keys on a node: on an attached server those that have
    /// the drawn name in them. On a server of our own every key is the lock's.
    pub async fn keys_of_lock(&self, party: Party) -> Vec<String> {
        let Some(attached) = &self.attached else {
            return match self.ask(party, &["KEYS", "*"]).await {
                Some(Reply::Array(names)) => names.iter().filter_map(text).collect(),
                _ => Vec::new(),
            };
        };
        let drawn = &attached.drawn;
        let found = async {
            let mut asker = self.asker(party).await?;
            names(&mut asker, &drawn.pattern(), |key| drawn.is_in(key)).await
        };
        let found = found.await.unwrap_or_default();
        let text = |name: &Vec<u8>| String::from_utf8_lossy(name).into_owned();
        found.iter().map(text).collect()
    }

    async fn asker(&self, party: Party) -> Result<Asker, TopologyError> {
        match self.member(party)?.seat {
            Seat::Attached { address, .. } => Asker::open(party, address).await,
            Seat::Own(_) => Err(TopologyError::NoParty(party)),
        }
    }

    /// Deletes every key of this name; gives what is left, and where.
    pub(super) async fn forget(&self, drawn: &Drawn) -> Vec<String> {
        let mut complaints = Vec::new();
        for party in self.nodes() {
            if let Err(error) = self.forget_on(party, drawn).await {
                complaints.push(format!("the keys named {}...: {error}", drawn.prefix()));
            }
        }
        let deadline = Instant::now() + PATIENCE;
        for party in self.nodes() {
            loop {
                let left = self.left_on(party, drawn).await.unwrap_or_default();
                match left.first() {
                    None => break,
                    Some(key) if Instant::now() >= deadline => {
                        complaints.push(format!(
                            "{party} still has {} keys of this run, such as `{key}`; delete them",
                            left.len()
                        ));
                        break;
                    }
                    Some(_) => sleep(Duration::from_millis(50)).await,
                }
            }
        }
        complaints
    }

    async fn forget_on(&self, party: Party, drawn: &Drawn) -> Result<(), TopologyError> {
        let mut asker = self.asker(party).await?;
        let role = asker.ask(&["ROLE"]).await?;
        if !is_primary(&role) {
            // Its primary tells it.
            return Ok(());
        }
        for database in databases(&mut asker).await? {
            select(&mut asker, database).await?;
            for key in names(&mut asker, &drawn.pattern(), |key| drawn.is_in(key)).await? {
                if let Reply::Error(answer) = asker.hear(&[&b"DEL"[..], &key]).await? {
                    return Err(asker.refused("DEL", &answer));
                }
            }
        }
        Ok(())
    }

    /// The keys of this name that a node has.
    async fn left_on(&self, party: Party, drawn: &Drawn) -> Result<Vec<String>, TopologyError> {
        self.some_keys(party, &drawn.pattern(), |key| drawn.is_in(key))
            .await
    }

    /// Keys on servers that were empty before, and that do not have the drawn name.
    pub(super) async fn strangers(&self) -> Vec<String> {
        let mut said = Vec::new();
        for party in self.nodes() {
            let keys = self.some_keys(party, "*", |_| true).await;
            let keys = keys.unwrap_or_default();
            if !keys.is_empty() {
                let named = keys.iter().take(NAMED).map(|key| format!("`{key}`"));
                let named: Vec<String> = named.collect();
                said.push(format!(
                    "{party} was empty before the run, and now has keys without its name: {}{}. \
                     They were left; if the lock made them, delete them",
                    named.join(", "),
                    match keys.len().saturating_sub(NAMED) {
                        0 => String::new(),
                        more => format!(" and {more} more"),
                    }
                ));
            }
        }
        said
    }

    async fn some_keys(
        &self,
        party: Party,
        pattern: &str,
        wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<String>, TopologyError> {
        let mut asker = self.asker(party).await?;
        let mut found = Vec::new();
        for database in databases(&mut asker).await? {
            select(&mut asker, database).await?;
            for name in names(&mut asker, pattern, &wanted).await? {
                found.push(String::from_utf8_lossy(&name).into_owned());
            }
        }
        Ok(found)
    }
}

impl Drawn {
    /// What a server is asked for. It has no letter that means something in patterns,
    /// and what comes back is looked at again.
    fn pattern(&self) -> String {
        format!("*{}*", self.prefix())
    }
}

fn is_primary(role: &Reply) -> bool {
    match role {
        Reply::Array(parts) => parts.first().and_then(text).as_deref() == Some("master"),
        _ => false,
    }
}

/// The databases that have keys.
async fn databases(asker: &mut Asker) -> Result<Vec<u32>, TopologyError> {
    let about = text(&asker.ask(&["INFO", "keyspace"]).await?).unwrap_or_default();
    Ok(survey::keys(&about).into_keys().collect())
}

async fn select(asker: &mut Asker, database: u32) -> Result<(), TopologyError> {
    asker.ask(&["SELECT", &database.to_string()]).await?;
    Ok(())
}

/// The keys of the chosen database that are wanted. SCAN and not KEYS: others may use
/// the server, and it must not stand still for this.
async fn names(
    asker: &mut Asker,
    pattern: &str,
    wanted: impl Fn(&[u8]) -> bool,
) -> Result<Vec<Vec<u8>>, TopologyError> {
    let mut found = std::collections::BTreeSet::new();
    let mut cursor = "0".to_owned();
    loop {
        let turn = ["SCAN", &cursor, "MATCH", pattern, "COUNT", TURN];
        let answer = asker.ask(&turn).await?;
        let Reply::Array(parts) = &answer else {
            return Err(asker.refused("SCAN", &format!("{answer:?}")));
        };
        let [next, Reply::Array(names)] = parts.as_slice() else {
            return Err(asker.refused("SCAN", &format!("{answer:?}")));
        };
        for name in names {
            if let Reply::Bulk(name) = name
                && wanted(name)
            {
                found.insert(name.clone());
            }
        }
        cursor = text(next).unwrap_or_default();
        if cursor == "0" || cursor.is_empty() {
            return Ok(found.into_iter().collect());
        }
    }
}
