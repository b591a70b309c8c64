-- Class: watches
-- Check: --assume none
-- Truth: assertion violated
-- Because: see expires-under-its-watch: here the lock asserts the opposite.
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
    sleep(2 * lock.ttl)
    local replies, err = multi { { "DEL", lock.key } }
    assert_(err or replies, "nobody touches the key")
    if err then return failed(err.message) end
    return replies ~= nil
  end,
}
