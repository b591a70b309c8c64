-- Class: times beyond the horizon
-- Check: --ttl-ticks 2 --assume none
-- Truth: lease violated
-- Truth: mutual-exclusion-belief holds
-- Truth: no-orphan holds
-- Check: --ttl-ticks 2 --assume client-crash
-- Truth: deadlock-freedom holds
-- Truth: no-orphan violated
-- Because: the key lives for six leases, five more than was asked for. A release deletes it,
-- so without crashes nothing is left; a dead owner's key outlives the grace of one lease, and
-- then expires, so the lock is free again.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", 6 * lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
