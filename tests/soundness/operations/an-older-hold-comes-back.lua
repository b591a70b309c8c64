-- Class: what a holder asks of its lock
-- Check: --assume node-restart-everysec
-- Truth: honest-outcome holds
-- Truth: lease holds
-- Because: a server that loses power may come back with the key of an older hold of the same
-- client. It has another token, so the client says that it does not hold the lock: that is so.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  is_held = function(lock)
    local value, err = redis("GET", lock.key)
    if err then return failed(err.message) end
    return value == lock.token
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
