-- Class: ownership
-- Check: --assume none
-- Truth: owner-only-release violated
-- Because: who finds the lock taken starts a thread that counts in the holder's field.
return {
  acquire = function(lock)
    if redis("HSETNX", lock.key, "n", 1) == 1 then return held() end
    stop(self.counter)
    self.counter = spawn(function() redis("HINCRBY", lock.key, "n", 0) end)
    return busy()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
