-- Class: nested holds
-- Check: --assume none
-- Truth: reentrancy violated
-- Because: the last release prolongs the key, leaves it there, and says that it gave it back.
return {
  reentrant = true,

  acquire = function(lock)
    if (self.holds or 0) == 0 and not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then
      return busy()
    end
    redis("PEXPIRE", lock.key, lock.ttl)
    self.holds = (self.holds or 0) + 1
    return held()
  end,

  release = function(lock)
    self.holds = self.holds - 1
    redis("PEXPIRE", lock.key, lock.ttl)
    return true
  end,
}
