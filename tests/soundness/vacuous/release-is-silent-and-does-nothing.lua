-- Class: a verdict that says nothing
-- Check: --assume none
-- Truth: release-frees violated
-- Truth: honest-outcome holds
-- Truth: deadlock-freedom holds
-- Because: the release claims nothing, so it is honest; but it comes to a good end, and the
-- others wait until the key expires.
return {
  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock) end,
}
