-- Class: rounding
-- Check: --assume none --tick-ms 1000
-- Truth: mutual-exclusion-belief unknown
-- Because: the thread renews a tenth of a second before the key ends, so nobody else gets it.
-- At ticks of a second, which were asked for, both come at once, and nothing can be said.
return {
  renews = true,
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", 3500) then return busy() end
    self.renewal = every(3400, function() redis("PEXPIRE", lock.key, 3500) end)
    return held()
  end,

  release = function(lock)
    stop(self.renewal)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
