-- Class: watches
-- Check: --assume none
-- Truth: owner-only-release holds
-- Check: --assume client-pause
-- Truth: owner-only-release violated
-- Because: a transaction without a watch is executed whatever happened before it, such as
-- the end of the lease while the client stood between GET and MULTI.
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
    local replies, err = multi { { "DEL", lock.key } }
    if err then return failed(err.message) end
    return replies[1] == 1
  end,
}
