-- Class: a verdict that says nothing
-- Check: --assume none
-- Truth: release-frees violated
-- Truth: honest-outcome violated
-- Truth: mutual-exclusion-belief holds
-- Because: the release deletes a key that is not there and says that it took effect.
return {
  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return redis("DEL", "lock:" .. lock.key) ~= nil
  end,
}
