-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: the PEXPIRE comes a moment after the SET, so its end is later by a millisecond or
-- two, and GT lets it pass. Only within one and the same millisecond it does not.
return {
  scripts = { "release_if_owner" },
  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    if redis("PEXPIRE", lock.key, lock.ttl, "GT") == 1 then redis("DEL", lock.key) end
    return held()
  end,
  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
