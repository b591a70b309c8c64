-- Class: derived and absolute times
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: with a digit in front the stored time still is one that grows old: it ends a second
-- before the lease, and then a waiter writes over the key of an owner who works.
return {
  acquire = function(lock)
    local value = "1" .. (now() + (lock.ttl - 1000))
    if redis("SET", lock.key, value, "NX", "PX", lock.ttl) then return held() end
    local old = redis("GET", lock.key)
    if not old then return busy() end
    local ends = time(string.sub(old, 2))
    if not ends or ends >= now() then return busy() end
    redis("SET", lock.key, value, "PX", lock.ttl)
    return held()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
