-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: within the millisecond of the SET the whole lease is left.
return {
  scripts = { "release_if_owner" },
  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    if redis("PTTL", lock.key) == lock.ttl then redis("DEL", lock.key) end
    return held()
  end,
  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
