//! The guarded resource: what a service would keep in its database.
//!
//! A Redis server of its own, which no proxy stands before and no fault touches:
//! whatever is lost here was lost by the lock. Reads and writes are separate
//! commands without any transaction, because guarding them is the lock's job.

use std::io;
use std::net::SocketAddr;

use lockproof_lab::server::admin::Admin;
use lockproof_redis::Reply;

/// A connection to the store.
pub struct Store(Admin);

/// Why the store did not answer. No fault ever touches it, so this is an error of
/// the harness.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The connection broke.
    #[error("the store did not answer: {0}")]
    Io(#[from] io::Error),
    /// It answered something else than expected.
    #[error("the store answered {0} to {1}")]
    Reply(String, String),
}

impl Store {
    /// Connects.
    ///
    /// # Errors
    /// If nothing listens there.
    pub async fn connect(address: SocketAddr) -> Result<Store, StoreError> {
        Ok(Store(Admin::connect(address).await?))
    }

    /// A number that is kept under `key`; 0 if nothing is.
    pub async fn number(&mut self, key: &str) -> Result<i64, StoreError> {
        match self.text(key).await? {
            None => Ok(0),
            Some(text) => text
                .parse()
                .map_err(|_| StoreError::Reply(text, format!("GET {key}"))),
        }
    }

    /// What is kept under `key`.
    pub async fn text(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        match self.0.command(&["GET", key]).await? {
            Reply::Nil => Ok(None),
            Reply::Bulk(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            other => Err(StoreError::Reply(
                format!("{other:?}"),
                format!("GET {key}"),
            )),
        }
    }

    /// Keeps `value` under `key`, whatever was there.
    pub async fn set(&mut self, key: &str, value: &str) -> Result<(), StoreError> {
        match self.0.command(&["SET", key, value]).await? {
            Reply::Status(_) => Ok(()),
            other => Err(StoreError::Reply(
                format!("{other:?}"),
                format!("SET {key}"),
            )),
        }
    }
}
