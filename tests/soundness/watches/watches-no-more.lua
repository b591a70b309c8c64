-- Class: watches
-- Check: --assume none
-- Truth: assertion holds
-- Check: --assume overrun
-- Truth: assertion holds
-- Truth: owner-only-release holds
-- Because: see goes-on-watching. UNWATCH ends what was watched.
return {

  acquire = function(lock)
    local replies, err = multi { { "SET", lock.key, lock.token, "NX", "PX", lock.ttl } }
    if err then return failed(err.message) end
    assert_(replies, "nothing is watched here")
    if not replies or not replies[1] then return busy() end
    return held()
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
