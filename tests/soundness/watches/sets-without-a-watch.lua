-- Class: watches
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: both clients find no key, and both set it: see dies-under-its-watch.
return {

  acquire = function(lock)
    local value, unread = redis("GET", lock.key)
    if unread then return failed(unread.message) end
    if value then return busy() end
    local replies, err = multi { { "SET", lock.key, lock.token, "PX", lock.ttl } }
    if err then return failed(err.message) end
    return replies and held() or busy()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
