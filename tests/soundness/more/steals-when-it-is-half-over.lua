-- Class: plain races
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: clients come at any time, not only at whole seconds. Who comes between 1.4 and 1.6
-- s after the owner takes the lock from it, while it works for three.
return {
  acquire = function(lock)
    if redis("SET", lock.key, now(), "NX", "PX", lock.ttl) then return held() end
    local since = time(redis("GET", lock.key))
    if not since then return busy() end
    local age = now() - since
    if age < 1400 or age > 1600 then return busy() end
    redis("SET", lock.key, now(), "PX", lock.ttl)
    return held()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
