-- Class: plain races
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Truth: mutual-exclusion-effect violated
-- Because: between EXISTS and SET another client can do the same, and both hold.
return {
  acquire = function(lock)
    if redis("EXISTS", lock.key) == 1 then return busy() end
    redis("SET", lock.key, lock.token, "PX", lock.ttl)
    return held()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
