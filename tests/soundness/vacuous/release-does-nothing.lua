-- Class: a verdict that says nothing
-- Check: --assume none
-- Truth: release-frees violated
-- Truth: honest-outcome violated
-- Truth: mutual-exclusion-belief holds
-- Truth: deadlock-freedom holds
-- Because: the release says that it took effect and does nothing: the key stays until it
-- expires, and the others wait for that.
return {
  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return true
  end,
}
