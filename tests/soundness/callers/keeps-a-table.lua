-- Class: what two threads cannot share in the model
-- Check: --assume none
-- Truth: refused
-- Because: a table in a shared handle could be reached from a thread's stack as well.
return {
  callers = { count = 2, handle = "shared" },
  acquire = function(lock)
    self.tokens = self.tokens or {}
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
