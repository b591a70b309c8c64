-- Class: a count of holds that two locks of a client share
-- Check: --assume none
-- Truth: lease violated
-- Truth: honest-outcome violated
-- Truth: mutual-exclusion-belief violated
-- Because: the second lock finds a count above 0 and is told that it is held, with no command
-- for its key.
return {
  objects = { count = 2, order = "opposite", state = "shared" },
  acquire = function(lock)
    if (self.holds or 0) == 0 then
      if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
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
