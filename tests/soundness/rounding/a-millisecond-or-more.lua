-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: a round trip takes a millisecond or more, and no half a second, as a rule.
return {
  scripts = { "release_if_owner" },
  acquire = function(lock)
    local a = now()
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    if now() - a >= 1 and now() - a < 500 then redis("DEL", lock.key) end
    return held()
  end,
  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
