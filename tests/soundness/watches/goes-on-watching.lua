-- Class: watches
-- Check: --assume none
-- Truth: assertion holds
-- Check: --assume overrun
-- Truth: assertion violated
-- Because: the connection is used again, and still watches what the release before looked at. So
-- the transaction of the next acquire is refused, although this watches nothing.
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
    return false
  end,
}
