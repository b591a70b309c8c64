-- Class: a property after deadlock-freedom
-- Check: --assume none --property release-frees
-- Truth: release-frees violated
-- Check: --assume none --property deadlock-freedom --property release-frees
-- Truth: deadlock-freedom holds
-- Truth: release-frees violated
-- Because: the release gives the key a whole lease again instead of deleting it: the others
-- wait for that lease, and then acquire.
return {
  acquire = function(lock)
    if redis("SET", lock.key, "1", "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return redis("PEXPIRE", lock.key, lock.ttl) == 1
  end,
}
