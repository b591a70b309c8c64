-- Class: whose key it is
-- Check: --assume none
-- Truth: lease violated
-- Truth: mutual-exclusion-belief holds
-- Because: the lock's own key never expires. A second key does, but that is not what keeps
-- others out.
return {
  acquire = function(lock)
    if redis("SETNX", lock.key, lock.token) ~= 1 then return busy() end
    redis("SET", lock.key .. ":since", lock.owner, "PX", lock.ttl)
    return held()
  end,

  release = function(lock)
    redis("DEL", lock.key .. ":since")
    return redis("DEL", lock.key) == 1
  end,
}
