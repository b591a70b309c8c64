-- Class: a clean-up that stops what an interrupted acquire has begun
-- Check: --assume cancel
-- Truth: no-orphan holds
-- Truth: mutual-exclusion-belief holds
-- Truth: deadlock-freedom holds
-- Because: the clean-up stops the thread that renews before anything else. The key that the
-- interrupted SET makes lives for a lease then, like any other, and ends.
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
    stop(self.watchdog)
    self.watchdog = every(lock.ttl / 3, function()
      script("extend", { lock.key }, { token, lock.ttl })
    end)
    local set, err = redis("SET", lock.key, token, "NX", "PX", lock.ttl)
    if set then return held() end
    stop(self.watchdog)
    if err then return failed(err.message) end
    return busy()
  end,

  cancelled = function(lock)
    stop(self.watchdog)
    script("release_if_owner", { lock.key }, { lock.token })
  end,

  release = function(lock)
    stop(self.watchdog)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
