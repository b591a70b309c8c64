-- Class: fences
-- Check: --nodes 2 --assume none
-- Truth: fence-monotonicity violated
-- Truth: mutual-exclusion-validity holds
-- Because: the lower of two counters is the one that was asked less often.
return {
  nodes = 2,
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local one = on(lock.nodes[1]).redis("INCR", lock.key .. ":fence")
    local other = on(lock.nodes[random(2)]).redis("INCR", lock.key .. ":fence")
    if not one or not other then return failed("no fence") end
    return held { fence = math.min(one, other) }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
