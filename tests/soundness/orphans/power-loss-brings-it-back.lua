-- Class: no-orphan gives up its watch
-- Check: --assume none
-- Truth: no-orphan holds
-- Truth: deadlock-freedom holds
-- Check: --assume node-restart-everysec
-- Truth: no-orphan violated
-- Truth: deadlock-freedom violated
-- Because: the key never expires. The server loses power with the DEL not yet on its disk, and
-- the key is back for ever, though its owner has given it up.
return {
  acquire = function(lock)
    local set, err = redis("SETNX", lock.key, "1")
    if err then return failed(err.message) end
    if set == 0 then return busy() end
    return held()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
