-- Class: watches
-- Check: --assume none
-- Truth: assertion holds
-- Check: --assume node-restart-always
-- Truth: assertion violated
-- Truth: owner-only-release holds
-- Check: --assume overrun,node-restart-always
-- Truth: owner-only-release holds
-- Because: a server that restarts between GET and EXEC keeps the key and forgets the watch. The
-- library knows that its connection is gone, and does not send the transaction: it has surely
-- not been executed.
return {
  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  release = function(lock)
    local _, unwatched = redis("WATCH", lock.key)
    if unwatched then return failed(unwatched.message) end
    if redis("GET", lock.key) ~= lock.token then
      redis("UNWATCH")
      return false
    end
    sleep(lock.ttl / 3)
    local replies, err = multi { { "DEL", lock.key } }
    assert_(not err or not err.definite, "it was not sent")
    if err then return failed(err.message) end
    return replies ~= nil
  end,
}
