-- Class: no-orphan gives up its watch
-- Check: --assume none
-- Truth: no-orphan violated
-- Truth: deadlock-freedom violated
-- Truth: honest-outcome holds
-- Because: the acquire takes a key that never expires and then fails with an error of its own.
-- Nobody deletes the key.
return {
  acquire = function(lock)
    if redis("SETNX", lock.key, lock.token) == 0 then return busy() end
    if redis("PTTL", lock.key) == -1 then error("the key has no expiry") end
    return held()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
