-- Class: clocks
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: monotonic clocks of two machines have nothing to do with each other, so a stored
-- monotonic time looks over, or not, as it happens: a waiter writes over the key of an owner
-- who works.
return {
  acquire = function(lock)
    local ends = monotonic() + lock.ttl
    if redis("SET", lock.key, ends, "NX", "PX", lock.ttl) then return held() end
    local stored = time(redis("GET", lock.key))
    if not stored or stored >= monotonic() then return busy() end
    redis("SET", lock.key, ends, "PX", lock.ttl)
    return held()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
