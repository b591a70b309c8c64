-- Class: a hold whose renewal never starts
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Check: --assume loss --timeout-ticks 1
-- Truth: mutual-exclusion-belief violated
-- Because: one renewal that is lost ends the thread, as an exception that nobody catches does.
-- The key expires while the work goes on.
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
    local set, err = redis("SET", lock.key, token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    self.renewal = every(lock.ttl / 3, function()
      local extended, failure = script("extend", { lock.key }, { token, lock.ttl })
      if failure then error(failure.message) end
    end)
    return held()
  end,

  release = function(lock)
    stop(self.renewal)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
