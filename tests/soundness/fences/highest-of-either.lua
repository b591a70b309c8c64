-- Class: fences
-- Check: --nodes 2 --assume none
-- Truth: fence-monotonicity violated
-- Truth: mutual-exclusion-validity holds
-- Because: the second counter is asked now and then. So the highest of both may be the second
-- one's, and the next holder, who asks the first one alone, gets the same.
return {
  nodes = 2,
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local fence = on(lock.nodes[random(2)]).redis("INCR", lock.key .. ":fence")
    local other = on(lock.nodes[random(2)]).redis("INCR", lock.key .. ":fence")
    if not fence or not other then return failed("no fence") end
    return held { fence = math.max(fence, other) }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
