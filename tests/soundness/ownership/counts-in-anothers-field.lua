-- Class: ownership
-- Check: --assume none
-- Truth: honest-outcome holds
-- Because: who counts from 0 to 1 in a field that another made has written there.
return {
  acquire = function(lock)
    redis("HSETNX", lock.key, "n", 0)
    if redis("HINCRBY", lock.key, "n", 1) == 1 then return held() end
    redis("HINCRBY", lock.key, "n", -1)
    return busy()
  end,

  release = function(lock)
    return (redis("HINCRBY", lock.key, "n", -1) or 0) >= 0
  end,
}
