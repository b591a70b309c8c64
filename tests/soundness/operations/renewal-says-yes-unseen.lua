-- Class: what a holder asks of its lock
-- Check: --assume none
-- Truth: honest-outcome violated
-- Truth: lease holds
-- Truth: mutual-exclusion-belief holds
-- Because: the renewal asks nobody and says that it took effect. The lease of the hold still
-- counts from the acquire, so work ends while the key is there.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held()
  end,

  renew = function(lock) return true end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
