-- Class: what a holder asks of its lock
-- Check: --assume none
-- Truth: lease holds
-- Truth: owner-only-release holds
-- Truth: honest-outcome holds
-- Check: --assume overrun
-- Truth: lease violated
-- Truth: owner-only-release violated
-- Truth: honest-outcome holds
-- Check: --assume node-flush
-- Truth: lease violated
-- Because: the renewal writes the token whether the key is there or not. While work ends in
-- time it is there. A holder who works on when the lease is over makes a key that was gone, or
-- writes over that of the next holder; a key that the server lost is made again, too.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held()
  end,

  renew = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "PX", lock.ttl)
    if err then return failed(err.message) end
    return true
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
