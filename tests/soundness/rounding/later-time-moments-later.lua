-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: the second reading of the clock is later than the first one, as a rule, and so is
-- the end.
return {
  scripts = { "release_if_owner" },
  acquire = function(lock)
    local t = now() + lock.ttl
    if not redis("SET", lock.key, lock.token, "NX", "PXAT", t) then return busy() end
    if redis("PEXPIREAT", lock.key, now() + lock.ttl, "GT") == 1 then redis("DEL", lock.key) end
    return held()
  end,
  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
