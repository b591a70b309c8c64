-- Class: fences
-- Check: --nodes 2 --assume none
-- Truth: fence-monotonicity holds
-- Truth: mutual-exclusion-effect holds
-- Because: each holder draws from both counters before the next one can, so they are equal
-- again when it has.
return {
  nodes = 2,
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local one = on(lock.nodes[1]).redis("INCR", lock.key .. ":fence")
    local other = on(lock.nodes[2]).redis("INCR", lock.key .. ":fence")
    if not one or not other then return failed("no fence") end
    return held { fence = math.max(one, other) }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
