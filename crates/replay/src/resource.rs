//! The guarded resource: a counter on a server of its own, which checks fences.

use lockproof_redis::Reply;

use super::GateError;
use super::look::{COUNTER, refused};
use super::replica::expect_ok;
use super::rig::Rig;

/// The highest fence that the resource has seen.
const SEEN: &str = "lockproof:seen";

/// Takes a fence, unless a higher one was there before; and then a value, if it comes with
/// one.
const TAKE: &str = "\
local seen = tonumber(redis.call('GET', KEYS[2]) or '-1')
local fence = tonumber(ARGV[1])
if fence < seen then return 0 end
redis.call('SET', KEYS[2], ARGV[1])
if ARGV[2] then redis.call('SET', KEYS[1], ARGV[2]) end
return 1";

impl Rig {
    pub(super) async fn reset_resource(&self) -> Result<(), GateError> {
        let Some(store) = &self.store else {
            return Ok(());
        };
        store.command(&["DEL", SEEN]).await?;
        expect_ok(store, &["SET", COUNTER, "0"]).await
    }

    /// A new holder reads with this fence: true if the resource takes it.
    pub(super) async fn show_fence(&self, fence: Option<i64>) -> Result<bool, GateError> {
        match fence {
            Some(fence) => self.take(fence, None).await,
            None => Ok(true),
        }
    }

    /// Writes the counter: true if the resource takes the fence that comes with it.
    pub(super) async fn write_counter(
        &self,
        value: i64,
        fence: Option<i64>,
    ) -> Result<bool, GateError> {
        match (&self.store, fence) {
            (None, _) => Ok(true),
            (Some(_), Some(fence)) => self.take(fence, Some(value)).await,
            (Some(store), None) => {
                expect_ok(store, &["SET", COUNTER, &value.to_string()]).await?;
                Ok(true)
            }
        }
    }

    async fn take(&self, fence: i64, value: Option<i64>) -> Result<bool, GateError> {
        let Some(store) = &self.store else {
            return Ok(true);
        };
        let (fence, value) = (fence.to_string(), value.map(|value| value.to_string()));
        let mut argv = vec!["EVAL", TAKE, "2", COUNTER, SEEN, &fence];
        argv.extend(value.as_deref());
        match store.command(&argv).await? {
            Reply::Int(taken) => Ok(taken == 1),
            other => Err(refused(store, "EVAL", &super::compare::reply_text(&other))),
        }
    }
}
