-- Class: fences
-- Check: --nodes 2 --assume none
-- Truth: fence-monotonicity violated
-- Because: two counters are two orders. The one that was asked less often gives out what the
-- other one gave out before.
return {
  nodes = 2,
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local fence = on(lock.nodes[random(2)]).redis("INCR", lock.key .. ":fence")
    return held { fence = fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
