-- Class: no-orphan gives up its watch
-- Check: --assume delay --timeout-ticks 1
-- Truth: no-orphan violated
-- Truth: mutual-exclusion-belief holds
-- Truth: deadlock-freedom holds
-- Check: --assume none
-- Truth: no-orphan holds
-- Because: the client gives its SET up after one second and fails. The SET arrives three
-- seconds after it was sent, and its key lives for three seconds more: past the grace of one
-- lease.
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
