-- Class: no-orphan gives up its watch
-- Check: --assume client-crash
-- Truth: no-orphan holds
-- Truth: deadlock-freedom holds
-- Truth: mutual-exclusion-belief holds
-- Because: whatever the dead client sent was executed at once, and its key expires one lease
-- later.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
