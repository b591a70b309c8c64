-- Class: stamps
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Because: a reading that was stored and comes back is the same text, in whatever moment; only
-- who finds something else there gives up and takes the lock back.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local mine = lock.token .. ":" .. now()
    self.mine = mine
    if not redis("SET", lock.key, mine, "NX", "PX", lock.ttl) then return busy() end
    if redis("GET", lock.key) ~= mine then
      redis("SET", lock.key, "nobody can have it any more")
      return failed("somebody wrote there")
    end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { self.mine }) == 1
  end,
}
