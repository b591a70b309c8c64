-- Class: time-outs hide delays
-- Check: --assume delay
-- Truth: mutual-exclusion-belief violated
-- Check: --assume delay --timeout-ticks 1
-- Truth: mutual-exclusion-belief holds
-- Because: a reply that comes after the lease is taken for a success though the key has
-- expired and another client holds. Only a command that gives up earlier prevents that.
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
