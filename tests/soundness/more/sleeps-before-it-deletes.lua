-- Class: plain races
-- Check: --assume none
-- Truth: owner-only-release violated
-- Truth: mutual-exclusion-belief violated
-- Because: a release that sleeps for longer than the lease before its DEL removes the key of
-- whoever has acquired since. Then its own client can acquire beside that one.
return {
  acquire = function(lock)
    if redis("SET", lock.key, "1", "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    sleep(lock.ttl + 1000)
    return redis("DEL", lock.key) == 1
  end,
}
