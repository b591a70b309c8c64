-- Class: a trace shows the property that it is about
-- Check: --assume none
-- Truth: lease violated
-- Truth: mutual-exclusion-belief holds
-- Truth: mutual-exclusion-validity holds
-- Truth: owner-only-release holds
-- Truth: no-orphan holds
-- Truth: honest-outcome holds
-- Truth: deadlock-freedom holds
-- Truth: release-frees holds
-- Because: the key lives for two leases and not for the one that was asked for. Its owner
-- deletes it within one.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", 2 * lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
