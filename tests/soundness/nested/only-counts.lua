-- Class: nested holds
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Truth: reentrancy holds
-- Truth: lease holds
-- Truth: release-frees holds
-- Because: the guide's own example: holds are counted in the client, the last release deletes
-- the key, and the holder's work ends within the lease of its outermost acquire.
return {
  reentrant = true,

  acquire = function(lock)
    if (self.holds or 0) == 0 then
      local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
      if err then return failed(err.message) end
      if not set then return busy() end
    end
    self.holds = (self.holds or 0) + 1
    return held()
  end,

  release = function(lock)
    self.holds = self.holds - 1
    if self.holds > 0 then return true end
    return redis("DEL", lock.key) == 1
  end,
}
