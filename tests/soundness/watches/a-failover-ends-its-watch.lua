-- Class: watches
-- Check: --assume failover
-- Truth: assertion violated
-- Truth: owner-only-release holds
-- Check: --assume overrun,failover
-- Truth: owner-only-release holds
-- Check: --assume failover-split-brain
-- Truth: refused line 23
-- Check: --assume failover-cut-off
-- Truth: refused line 23
-- Because: a replica that takes over knows of no watch, and the library knows that its
-- connection is gone. Of servers that go on beside their successor the model says nothing here.
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
