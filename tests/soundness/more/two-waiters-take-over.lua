-- Class: plain races
-- Check: --clients 2 --assume client-crash
-- Truth: mutual-exclusion-belief holds
-- Check: --clients 3 --assume client-crash
-- Truth: mutual-exclusion-belief violated
-- Because: two waiters find a dead owner's time passed. One deletes the key and sets its own,
-- and then the other does the same with that key. It takes a dead client and two more.
return {
  acquire = function(lock)
    local ends = now() + lock.ttl
    if redis("SETNX", lock.key, ends) == 1 then return held() end
    local stored = time(redis("GET", lock.key))
    if not stored or stored >= now() then return busy() end
    redis("DEL", lock.key)
    if redis("SETNX", lock.key, ends) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
