-- Class: watches
-- Check: --assume none
-- Truth: refused line 13
-- Because: a background thread and the thread of an operation have connections of their own, and the
-- model follows that of the operation.
return {

  acquire = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    every(lock.ttl / 3, function()
      redis("WATCH", lock.key)
    end)
    return held()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
