-- Class: fences
-- Check: --assume none
-- Truth: fence-monotonicity violated
-- Truth: mutual-exclusion-effect holds
-- Check: --assume overrun
-- Truth: mutual-exclusion-effect violated
-- Because: a number that all holders have is no fence: the resource takes them all.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held { fence = 1 }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
