-- Class: an order that nobody promises
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Truth: deadlock-freedom holds
-- Truth: lease violated
-- Because: only the number of listed fields matters: who is alone holds, and nobody who comes
-- later is. The order cannot change that. The hash never expires.
return {
  acquire = function(lock)
    redis("HSET", lock.key, lock.owner, "1")
    local names = redis("HKEYS", lock.key)
    if names and #names == 1 then return held() end
    redis("HDEL", lock.key, lock.owner)
    return busy()
  end,

  release = function(lock)
    return redis("HDEL", lock.key, lock.owner) == 1
  end,
}
