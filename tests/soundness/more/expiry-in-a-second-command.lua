-- Class: plain races
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: deadlock-freedom holds
-- Check: --assume client-crash
-- Truth: deadlock-freedom violated
-- Truth: no-orphan violated
-- Truth: mutual-exclusion-belief holds
-- Because: a client that dies between the two commands leaves a key that never expires.
return {
  acquire = function(lock)
    if redis("SETNX", lock.key, lock.token) == 0 then return busy() end
    redis("PEXPIRE", lock.key, lock.ttl)
    return held()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
