-- Class: watches
-- Check: --assume none
-- Truth: assertion holds
-- Check: --assume node-flush
-- Truth: assertion holds
-- Because: nobody ever writes the watched key, and to delete all keys touches those that are
-- there.
return {
  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  release = function(lock)
    local key = lock.key .. ":nothing"
    redis("WATCH", key)
    local replies, err = multi { { "GET", lock.key }, { "GET", key } }
    assert_(err or replies, "a key that is not there was touched")
    if err then return failed(err.message) end
    assert_(not replies[2], "a key that nobody writes is there")
    if replies[1] ~= lock.token then return false end
    return redis("DEL", lock.key) == 1
  end,
}
