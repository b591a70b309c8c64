-- Class: watches
-- Check: --assume none
-- Truth: refused line 11
-- Because: nothing waits in a transaction.
return {

  acquire = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    multi { { "GET", lock.key }, { "BLPOP", "list", 1 } }
    return held()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
