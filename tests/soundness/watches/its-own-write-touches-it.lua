-- Class: watches
-- Check: --assume none
-- Truth: assertion holds
-- Because: what a client writes outside of its transaction touches what it watches itself.
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
    local set, err = redis("SET", lock.key, lock.token, "XX", "KEEPTTL")
    local replies, aborted = multi { { "PING" } }
    assert_(err or aborted or not set or not replies, "its own write is not seen")
    return redis("DEL", lock.key) == 1
  end,
}
