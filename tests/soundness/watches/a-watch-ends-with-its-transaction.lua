-- Class: watches
-- Check: --assume none
-- Truth: owner-only-release holds
-- Check: --assume client-pause
-- Truth: owner-only-release violated
-- Because: EXEC of the first transaction ends the watch, so nothing guards the second one.
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
    local read, unread = multi { { "GET", lock.key } }
    if unread then return failed(unread.message) end
    if not read or read[1] ~= lock.token then return false end
    local replies, err = multi { { "DEL", lock.key } }
    if err then return failed(err.message) end
    return replies[1] == 1
  end,
}
