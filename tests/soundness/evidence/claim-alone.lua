-- Class: a trace shows the property that it is about
-- Check: --assume client-crash
-- Truth: honest-outcome holds
-- Truth: owner-only-release holds
-- Check: --assume loss
-- Truth: honest-outcome violated
-- Truth: owner-only-release holds
-- Truth: mutual-exclusion-belief holds
-- Because: the release does not look at what came back. Where its request was lost, it took no
-- effect and says that it did; the key then expires by itself.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if set then return held() end
    return busy()
  end,

  release = function(lock)
    script("release_if_owner", { lock.key }, { lock.token })
    return true
  end,
}
