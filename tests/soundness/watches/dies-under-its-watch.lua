-- Class: watches
-- Check: --assume client-crash
-- Truth: deadlock-freedom holds
-- Truth: no-orphan holds
-- Truth: owner-only-release holds
-- Truth: mutual-exclusion-belief holds
-- Check: --assume client-restart
-- Truth: owner-only-release holds
-- Because: a watch holds nobody up, and ends with its connection. A transaction that a dead client
-- has sent is executed if nobody has touched the key.
return {

  acquire = function(lock)
    redis("WATCH", lock.key)
    local value, unread = redis("GET", lock.key)
    if unread then return failed(unread.message) end
    if value then
      redis("UNWATCH")
      return busy()
    end
    local replies, err = multi { { "SET", lock.key, lock.token, "PX", lock.ttl } }
    if err then return failed(err.message) end
    return replies and held() or busy()
  end,

  release = function(lock)
    redis("WATCH", lock.key)
    if redis("GET", lock.key) == lock.token then
      return multi { { "DEL", lock.key } } ~= nil
    end
    redis("UNWATCH")
    return false
  end,
}
