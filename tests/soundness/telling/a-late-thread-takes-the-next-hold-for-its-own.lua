-- Class: what a lock tells its caller of a loss
-- Check: --assume none --clients 1
-- Truth: no-false-alarm violated
-- Because: the release does not stop the thread. It finds that its token is gone, which is right,
-- and tells the caller, who holds the lock again with another one.
return {
    scripts = {
    "release_if_owner",
    extend = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      return redis.call("pexpire", KEYS[1], ARGV[2])
    ]],
  },

  acquire = function(lock)
    local token, ttl = lock.token, lock.ttl
    local set, err = redis("SET", lock.key, token, "NX", "PX", ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    if self.older then stop(self.older) end
    self.older = self.renewal
    self.renewal = spawn(function()
      sleep(ttl / 3)
      if script("extend", { lock.key }, { token, ttl }) == 0 then lost() end
    end)
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
