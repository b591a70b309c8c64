-- Class: times beyond the horizon
-- Check: --ttl-ticks 2 --assume none
-- Truth: mutual-exclusion-belief violated
-- Truth: owner-only-release violated
-- Because: the owner renews its key and may work for as long as it likes, and its stamp stays
-- that of its acquire. Once it is more than four leases old, a waiter writes over the key and
-- holds too.
return {
  renews = true,

  acquire = function(lock)
    local set = redis("SET", lock.key, now(), "NX", "PX", lock.ttl)
    if not set then
      local since = time(redis("GET", lock.key))
      if not since or now() - since <= 4 * lock.ttl then return busy() end
      redis("SET", lock.key, now(), "PX", lock.ttl)
    end
    self.renewal = every(lock.ttl / 2, function()
      redis("PEXPIRE", lock.key, lock.ttl)
    end)
    return held()
  end,

  release = function(lock)
    stop(self.renewal)
    return redis("DEL", lock.key) == 1
  end,
}
