-- Class: watches
-- Check: --assume cancel
-- Truth: assertion holds
-- Truth: deadlock-freedom holds
-- Because: the clean-up after an interrupted acquire has watched nothing, so its library sends
-- what it asks for, on whatever connection.
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

  cancelled = function(lock)
    local _, err = multi { { "PING" } }
    assert_(not err or not err.definite, "it was not sent")
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
