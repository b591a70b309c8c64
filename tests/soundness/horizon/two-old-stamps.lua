-- Class: times beyond the horizon
-- Check: --ttl-ticks 2 --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: the owner renews for as long as it works. A waiter notes when it first came; five
-- leases later both stamps are old, the owner's is still the older one, and the waiter writes
-- over the key of an owner who works.
return {
  renews = true,

  acquire = function(lock)
    local seen_key = lock.key .. ":seen"
    local set = redis("SET", lock.key, now(), "NX", "PX", lock.ttl)
    if not set then
      redis("SETNX", seen_key, now())
      local since, seen = time(redis("GET", lock.key)), time(redis("GET", seen_key))
      if not since or not seen then return busy() end
      if now() - seen <= 5 * lock.ttl or not (since < seen) then return busy() end
      redis("SET", lock.key, now(), "PX", lock.ttl)
    end
    redis("DEL", seen_key)
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
