-- Class: no-orphan gives up its watch
-- Check: --assume failover
-- Truth: no-orphan holds
-- Truth: deadlock-freedom holds
-- Truth: mutual-exclusion-belief violated
-- Because: a replica that lacks the DEL brings the key back, but it expires one lease after it
-- was set, and the release came after that. One that lacks the SET lets a second client
-- acquire.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if set then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
