-- Class: plain races
-- Check: --assume none
-- Truth: owner-only-release holds
-- Truth: mutual-exclusion-belief holds
-- Truth: release-frees holds
-- Check: --assume overrun
-- Truth: owner-only-release violated
-- Because: within the lease the key is the client's own. After it, the DEL removes the next
-- owner's.
return {
  acquire = function(lock)
    if redis("SET", lock.key, "1", "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
