-- Class: nested holds
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: mutual-exclusion-validity holds
-- Truth: reentrancy holds
-- Truth: honest-outcome holds
-- Truth: lease holds
-- Truth: deadlock-freedom holds
-- Because: the inner acquire looks whether the key is still its own and promises nothing new,
-- so the work ends with the lease of the outer one. An inner release only counts down, as a
-- reentrant lock does, and that is its effect.
return {
  reentrant = true,
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if (self.holds or 0) == 0 then
      if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    elseif redis("GET", lock.key) ~= lock.token then
      return failed("the lock was lost")
    end
    self.holds = (self.holds or 0) + 1
    return held()
  end,

  release = function(lock)
    self.holds = self.holds - 1
    if self.holds > 0 then return true end
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
