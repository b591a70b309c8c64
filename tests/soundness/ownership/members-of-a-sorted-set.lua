-- Class: whose key it is
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: owner-only-release holds
-- Truth: lease holds
-- Truth: honest-outcome holds
-- Truth: no-orphan holds
-- Because: waiters enter a sorted set beside the lock and leave it as they end: each its own
-- member, and nobody asks for their order.
return {
  keys = { lock = "{key}", queue = "{key}:waiting" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local waiting, got = lock.key .. ":waiting", nil
    redis("ZADD", waiting, 0, lock.owner)
    got = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    redis("ZREM", waiting, lock.owner)
    if got then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
