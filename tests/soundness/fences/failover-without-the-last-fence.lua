-- Class: fences
-- Check: --assume failover
-- Truth: fence-monotonicity violated
-- Because: the replica lacks the last write, which is the counter's. The lock is there, and
-- free when it has ended; then the same fence is drawn again.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    local fence, err = redis("INCR", lock.key .. ":fence")
    if err then return failed(err.message) end
    return held { fence = fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
