-- Class: watches
-- Check: --assume delay
-- Truth: owner-only-release violated
-- Because: see compares-under-its-watch. Without the watch a transaction that comes late deletes
-- the key of another client.
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
