-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: lease holds
-- Check: --assume none --tick-ms 500 --ttl-ticks 6
-- Truth: mutual-exclusion-belief holds
-- Truth: lease holds
-- Because: every renewal comes 2.5 s after the one before, half a second before the key would
-- expire.
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
    self.renewal = every(lock.ttl - 500, function()
      script("extend", { lock.key }, { token, lock.ttl })
    end)
    return held()
  end,

  release = function(lock)
    stop(self.renewal)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
