-- Class: what a lock tells its caller of a loss
-- Check: --assume partition
-- Truth: no-false-alarm holds
-- Truth: told-when-lost holds
-- Because: behind a cut link the client's clock tells it when no renewal is left that it could
-- count on. A thread of its own waits for that moment, which is not after the key's end.
return {
  renews = true,
  told_within = 0,
  scripts = {
    "release_if_owner",
    extend = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      return redis.call("pexpire", KEYS[1], ARGV[2])
    ]],
  },

  acquire = function(lock)
    local token, ttl = lock.token, lock.ttl
    local started = monotonic()
    local set, err = redis("SET", lock.key, token, "NX", "PX", ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    self.sure = started + ttl
    self.guard = spawn(function()
      while monotonic() < self.sure do sleep(self.sure - monotonic()) end
      lost()
    end)
    self.renewal = every(lock.ttl / 3, function()
      local began = monotonic()
      local extended = script("extend", { lock.key }, { token, ttl })
      if extended == 1 then self.sure = began + ttl end
      if extended == 0 then
        lost()
        return false
      end
    end)
    return held()
  end,

  release = function(lock)
    stop(self.guard)
    stop(self.renewal)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
