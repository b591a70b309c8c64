-- Class: time that stands still
-- Check: --assume none
-- Truth: deadlock-freedom holds
-- Truth: mutual-exclusion-belief holds
-- Check: --assume client-crash
-- Truth: deadlock-freedom holds
-- Because: a sleep of no length is no pause, but time goes on all the same: a dead owner's key
-- expires, and the poll after that gets the lock.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    while not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) do sleep(0) end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
