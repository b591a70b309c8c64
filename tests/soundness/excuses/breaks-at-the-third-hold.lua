-- Class: outcomes as excuses
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: warns two deep
-- Because: a third hold in another would delete the key. Clients here hold twice at most,
-- where the lock is right, and the report has to say so.
return {
  reentrant = true,
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if (self.holds or 0) == 0 then
      if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    elseif self.holds == 2 then
      redis("DEL", lock.key)
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
