-- Class: no-orphan gives up its watch
-- Check: --assume failover
-- Truth: no-orphan violated
-- Truth: deadlock-freedom violated
-- Because: the key never expires. The replica that takes over lacks the DEL, and the key is
-- back for ever, though its owner has given it up.
return {
  acquire = function(lock)
    local set, err = redis("SETNX", lock.key, lock.token)
    if err then return failed(err.message) end
    if set == 0 then return busy() end
    return held()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
