-- Class: what a holder asks of its lock
-- Check: --assume none
-- Truth: honest-outcome violated
-- Truth: mutual-exclusion-belief holds
-- Because: the key is there with the token, as the acquire wrote it, and the client says that
-- it does not hold the lock.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held()
  end,

  is_held = function(lock)
    return redis("EXISTS", lock.key) == 0
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
