-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: a moment after the SET less than the whole lease is left, as a rule. The script
-- takes that for a lock of somebody else's.
return {
  scripts = {
    "release_if_owner",
    s = [[ if redis.call("pttl", KEYS[1]) < tonumber(ARGV[1]) then return 1 end return 0 ]],
  },
  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    if script("s", { lock.key }, { lock.ttl }) == 1 then redis("DEL", lock.key) end
    return held()
  end,
  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
