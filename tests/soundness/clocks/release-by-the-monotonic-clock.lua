-- Class: clocks
-- Check: --assume client-skew
-- Truth: owner-only-release holds
-- Truth: mutual-exclusion-belief holds
-- Because: what a step of the wall clock does not move says when the lease ends, so the DEL is
-- sent only while the key is the client's own.
return {
  acquire = function(lock)
    local started = monotonic()
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    self.ends = started + lock.ttl
    return held { validity = self.ends - monotonic() }
  end,

  release = function(lock)
    if monotonic() >= self.ends then return false end
    return redis("DEL", lock.key) == 1
  end,
}
