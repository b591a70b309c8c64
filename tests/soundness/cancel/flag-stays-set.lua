-- Class: a flag that an interrupted acquire leaves set
-- Check: --assume cancel
-- Truth: deadlock-freedom holds
-- Check: --assume cancel --budget cancel=2
-- Truth: deadlock-freedom violated
-- Truth: mutual-exclusion-belief holds
-- Because: an acquire that is interrupted leaves `self.tries` set, and every later one of this
-- client fails at once. The other client can still acquire, until it is interrupted as well.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if self.tries then return failed("another attempt goes on") end
    self.tries = true
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    self.tries = false
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
