-- Class: what a holder asks of its lock
-- Check: --assume delay
-- Truth: lease violated
-- Check: --assume none
-- Truth: lease holds
-- Because: nobody waits any more for the renewal that gave up after a second. It arrives
-- when its lock was released, or the lease is over, and makes the key that is gone.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    if now() - started >= lock.ttl then return failed("too late") end
    self.renewed, self.started = false, started
    return held()
  end,

  -- Once in a hold, and soon.
  renew = function(lock)
    if self.renewed or now() - self.started > 500 then return failed("once, and soon") end
    self.renewed = true
    local set, err = on(1, { timeout = 1000 }).redis("SET", lock.key, lock.token, "PX", lock.ttl)
    if err then return failed(err.message) end
    return true
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
