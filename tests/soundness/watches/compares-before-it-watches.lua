-- Class: watches
-- Check: --assume none
-- Truth: owner-only-release holds
-- Check: --assume client-pause
-- Truth: owner-only-release violated
-- Because: the lease ends and another client acquires between GET and WATCH, while the first
-- one stands. The watch sees
-- only what happens after it.
return {
  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  release = function(lock)
    if redis("GET", lock.key) ~= lock.token then return false end
    local _, unwatched = redis("WATCH", lock.key)
    if unwatched then return failed(unwatched.message) end
    local replies, err = multi { { "DEL", lock.key } }
    if err then return failed(err.message) end
    return replies ~= nil
  end,
}
