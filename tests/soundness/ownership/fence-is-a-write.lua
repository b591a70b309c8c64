-- Class: whose key it is
-- Check: --assume failover
-- Truth: mutual-exclusion-belief holds
-- Because: the replica lacks the last write at most. That is the fence's: the lock was written
-- before it, and is looked for once more after it.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local fence = redis("INCR", lock.key .. ":fence")
    if not fence then return failed("no fence") end
    if redis("GET", lock.key) ~= lock.token then return failed("not there any more") end
    return held { fence = fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
