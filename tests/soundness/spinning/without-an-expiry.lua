-- Class: time that stands still
-- Check: --assume none
-- Truth: deadlock-freedom holds
-- Truth: mutual-exclusion-belief holds
-- Check: --assume client-crash
-- Truth: deadlock-freedom violated
-- Truth: no-orphan violated
-- Because: the key never expires. With its owner dead the others poll for ever, however much
-- time goes on.
return {
  acquire = function(lock)
    while redis("SETNX", lock.key, lock.token) == 0 do end
    return held()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
