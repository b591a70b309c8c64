-- Class: watches
-- Check: --assume client-pause
-- Truth: owner-only-release violated
-- Because: nobody touches the key that is watched.
return {
  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  release = function(lock)
    redis("WATCH", lock.key .. ":other")
    if redis("GET", lock.key) ~= lock.token then return false end
    local replies, err = multi { { "DEL", lock.key } }
    if err then return failed(err.message) end
    return replies ~= nil and replies[1] == 1
  end,
}
