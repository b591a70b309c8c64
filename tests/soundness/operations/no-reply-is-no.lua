-- Class: what a holder asks of its lock
-- Check: --assume none
-- Truth: honest-outcome holds
-- Check: --assume loss
-- Truth: honest-outcome violated
-- Because: a reply that does not come is nil like that of a key that is gone, and the client
-- takes it for that, while the lock stands.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  is_held = function(lock) return redis("GET", lock.key) == lock.token end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
