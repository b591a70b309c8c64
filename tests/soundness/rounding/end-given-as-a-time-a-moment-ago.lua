-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: the time was read before the SET left, so a little less than the lease is left when
-- PTTL is asked.
return {
  scripts = { "release_if_owner" },
  acquire = function(lock)
    local t = now() + lock.ttl
    if not redis("SET", lock.key, lock.token, "NX", "PXAT", t) then return busy() end
    if redis("PTTL", lock.key) ~= lock.ttl then redis("DEL", lock.key) end
    return held()
  end,
  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
