-- Class: a trace shows the property that it is about
-- Check: --assume none
-- Truth: owner-only-release violated
-- Truth: mutual-exclusion-belief holds
-- Truth: lease holds
-- Truth: honest-outcome holds
-- Truth: no-orphan holds
-- Truth: deadlock-freedom holds
-- Because: who finds the lock taken prolongs the owner's key by a whole lease. That does no
-- harm but to the rule that nobody touches another's hold.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    redis("PEXPIRE", lock.key, lock.ttl)
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
