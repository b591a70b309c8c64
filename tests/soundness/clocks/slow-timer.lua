-- Class: clocks
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Check: --assume client-skew
-- Truth: mutual-exclusion-belief holds
-- Check: --assume client-drift
-- Truth: mutual-exclusion-belief violated
-- Because: a renewal every two seconds of a lease of three leaves one second, which a drift
-- takes: the key expires while the work goes on. A step of the wall clock moves no timer.
return {
  renews = true,
  scripts = {
    "release_if_owner",
    extend = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      return redis.call("pexpire", KEYS[1], ARGV[2])
    ]],
  },

  acquire = function(lock)
    local token = lock.token
    if not redis("SET", lock.key, token, "NX", "PX", lock.ttl) then return busy() end
    self.renewal = every(2000, function()
      script("extend", { lock.key }, { token, lock.ttl })
    end)
    return held()
  end,

  release = function(lock)
    stop(self.renewal)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
