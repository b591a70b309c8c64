-- Class: time that stands still
-- Check: --assume none
-- Truth: deadlock-freedom holds
-- Truth: mutual-exclusion-belief holds
-- Truth: release-frees holds
-- Check: --assume client-crash
-- Truth: deadlock-freedom holds
-- Truth: mutual-exclusion-belief holds
-- Because: a client that polls without a pause gets the lock when it is free, and time goes on
-- while it polls: a dead owner's key expires.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    while not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) do end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
