-- Class: a hold whose renewal never starts
-- Check: --assume loss --ttl-ticks 5 --timeout-ticks 1
-- Truth: mutual-exclusion-belief holds
-- Truth: owner-only-release holds
-- Truth: lease holds
-- Because: a renewal leaves one second after the one before has ended, a lost one ends after
-- one second, and the key lives for five: one loss is made good two seconds before it matters.
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
    self.renewal = every(1000, function()
      script("extend", { lock.key }, { token, lock.ttl })
    end)
    return held()
  end,

  release = function(lock)
    stop(self.renewal)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
