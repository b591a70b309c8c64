-- Class: whose key it is
-- Check: --assume none
-- Truth: owner-only-release violated
-- Because: a PEXPIRE that is on its way when the lock is given back can be executed after the
-- DEL and after the next client's SET, whose key then ends later. No fault is needed, and no
-- time: that both ends are the same, if all happens within one millisecond, is luck.
return {
  renews = true,

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    self.renewal = every(lock.ttl / 3, function()
      if redis("PEXPIRE", lock.key, lock.ttl) ~= 1 then return false end
    end)
    return held()
  end,

  release = function(lock)
    stop(self.renewal)
    return redis("DEL", lock.key) == 1
  end,
}
