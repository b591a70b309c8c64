-- Class: fences
-- Check: --assume none
-- Truth: fence-monotonicity violated
-- Check: --assume overrun
-- Truth: mutual-exclusion-effect holds
-- Because: the counter goes with the lock, so each holder begins with 1, unless the one before
-- works on: then it gets 2, and from then on the resource refuses whoever comes with 1.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local fence = redis("INCR", lock.key .. ":number")
    return held { fence = fence }
  end,

  release = function(lock)
    redis("DEL", lock.key .. ":number")
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
