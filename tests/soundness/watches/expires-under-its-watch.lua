-- Class: watches
-- Check: --assume none
-- Truth: assertion holds
-- Check: --assume clock-jump
-- Truth: assertion holds
-- Because: the lease has ended between WATCH and EXEC, and a key that expires makes its watch
-- dirty (also if its clock was set back by a lease), whether anybody has it by then or not.
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
    if redis("GET", lock.key) ~= lock.token then
      redis("UNWATCH")
      return false
    end
    sleep(3 * lock.ttl)
    local replies, err = multi { { "DEL", lock.key } }
    assert_(err or not replies, "a key that has expired was touched")
    if err then return failed(err.message) end
    return replies ~= nil
  end,
}
