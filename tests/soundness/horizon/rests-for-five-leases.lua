-- Class: times beyond the horizon
-- Check: --ttl-ticks 2 --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: mutual-exclusion-effect holds
-- Truth: deadlock-freedom holds
-- Truth: no-orphan holds
-- Because: it is the token lock; a client that has released only stays away for five leases,
-- however long ago that was, and then tries again as any other.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if self.last and now() - self.last < 5 * lock.ttl then return busy() end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    self.last = now()
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
