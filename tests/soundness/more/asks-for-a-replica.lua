-- Class: several servers
-- Check: --assume failover
-- Truth: mutual-exclusion-belief holds
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: deadlock-freedom holds
-- Because: the client holds only when a replica has its key as well, so a promotion keeps it.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    if redis("WAIT", 1, 100) == 1 then return held() end
    script("release_if_owner", { lock.key }, { lock.token })
    return failed("no replica has the key")
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
