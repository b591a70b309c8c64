-- Class: watches
-- Check: --assume none
-- Truth: assertion holds
-- Check: --assume node-flush
-- Truth: assertion violated
-- Check: --clients 1 --assume node-flush
-- Truth: assertion violated
-- Because: to delete all keys touches the watched one, which was there.
return {
  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  release = function(lock)
    redis("WATCH", lock.key)
    if redis("GET", lock.key) ~= lock.token then
      redis("UNWATCH")
      return false
    end
    local replies, err = multi { { "DEL", lock.key } }
    assert_(err or replies, "the key was touched")
    if err then return failed(err.message) end
    return replies ~= nil
  end,
}
