-- Class: a count of holds that two threads share
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: the second thread finds a count above 0 and counts one more, as a nested acquire of
-- the first would.
return {
  reentrant = true,
  callers = { count = 2, handle = "shared" },

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
