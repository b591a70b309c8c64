-- Class: watches
-- Check: --assume client-crash
-- Truth: no-orphan holds
-- Truth: deadlock-freedom holds
-- Check: --assume client-pause
-- Truth: deadlock-freedom holds
-- Because: SETNX and PEXPIRE are one step here, so nobody dies between them. (That PEXPIRE
-- prolongs another client's lease is another matter.)
return {

  acquire = function(lock)
    local commands = { { "SETNX", lock.key, lock.token }, { "PEXPIRE", lock.key, lock.ttl, "NX" } }
    local replies, err = multi(commands)
    if err then return failed(err.message) end
    return replies[1] == 1 and held() or busy()
  end,

  release = function(lock)
    if redis("GET", lock.key) ~= lock.token then return false end
    return redis("DEL", lock.key) == 1
  end,
}
