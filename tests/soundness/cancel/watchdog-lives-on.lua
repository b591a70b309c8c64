-- Class: a watchdog that an interrupted acquire leaves behind
-- Check: --assume none
-- Truth: no-orphan holds
-- Check: --assume cancel
-- Truth: no-orphan violated
-- Truth: mutual-exclusion-belief holds
-- Because: the thread that renews is there before the SET is answered. The acquire is
-- interrupted, nobody holds the lock, and the thread goes on and renews the key for ever.
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

  release = function(lock)
    stop(self.watchdog)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
