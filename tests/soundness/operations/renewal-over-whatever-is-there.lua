-- Class: what a holder asks of its lock
-- Check: --assume none
-- Truth: owner-only-release holds
-- Truth: lease holds
-- Check: --assume overrun
-- Truth: owner-only-release violated
-- Truth: lease violated
-- Truth: honest-outcome holds
-- Because: XX makes no key that is gone, but it writes over that of the next holder. It does
-- what it says: the lock is the client's own again. The next holder, whose key was written over
-- before it read the reply to its SET, is told of a success that is gone.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held()
  end,

  renew = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "XX", "PX", lock.ttl)
    if err then return failed(err.message) end
    return set ~= nil
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
