-- Class: a handle that takes endlessly many contents
-- Check: --assume none --property mutual-exclusion-belief
-- Truth: mutual-exclusion-belief not-holds
-- Because: each attempt of either thread counts, and nobody counts back; the model follows a
-- bounded number of contents.
return {
  callers = { count = 2, handle = "shared" },
  acquire = function(lock)
    self.tries = (self.tries or 0) + 1
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
