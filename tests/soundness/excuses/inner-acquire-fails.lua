-- Class: outcomes as excuses
-- Check: --assume none
-- Truth: reentrancy violated
-- Truth: mutual-exclusion-belief holds
-- Because: a holder that acquires again is told each time that it failed, though nothing is
-- wrong.
return {
  reentrant = true,
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if (self.holds or 0) > 0 then return failed("not implemented") end
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    self.holds = 1
    return held()
  end,

  release = function(lock)
    self.holds = 0
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
