-- Class: clocks
-- Check: --assume none
-- Truth: owner-only-release holds
-- Check: --assume client-skew
-- Truth: owner-only-release violated
-- Because: the holder's clock is set back while it holds, so it works on after its key has
-- expired, and its clock still says that the lease is its own: the DEL removes the next
-- owner's key.
return {
  acquire = function(lock)
    local started = now()
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    self.ends = started + lock.ttl
    return held { validity = self.ends - now() }
  end,

  release = function(lock)
    if now() >= self.ends then return false end
    return redis("DEL", lock.key) == 1
  end,
}
