-- Class: what a lock tells its caller of a loss
-- Check: --assume none
-- Truth: no-false-alarm holds
-- Truth: told-when-lost holds
-- Check: --assume loss
-- Truth: no-false-alarm holds
-- Truth: told-when-lost holds
-- Check: --assume client-pause
-- Truth: no-false-alarm holds
-- Truth: told-when-lost holds
-- Check: --assume node-restart-none
-- Truth: no-false-alarm holds
-- Truth: told-when-lost holds
-- Check: --assume clock-jump
-- Truth: no-false-alarm holds
-- Truth: told-when-lost holds
-- Check: --assume client-drift
-- Truth: no-false-alarm holds
-- Truth: told-when-lost holds
-- Check: --assume client-skew
-- Truth: no-false-alarm holds
-- Truth: told-when-lost holds
-- Check: --assume client-pause,node-flush
-- Truth: no-false-alarm holds
-- Truth: told-when-lost holds
-- Check: --assume failover
-- Truth: no-false-alarm holds
-- Truth: told-when-lost holds
-- Because: the thread tells what replies tell it, and else what its own clock tells it: a lease
-- after the last renewal that it knows of. With three renewals in a lease it knows in a lease, and
-- time in which it is paused does not count.
return {
  renews = true,
  told_within = 1,
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
    self.renewal = every(lock.ttl / 3, function()
      local began = monotonic()
      local extended = script("extend", { lock.key }, { token, ttl })
      if extended == 1 then self.sure = began + ttl end
      if extended == 0 or monotonic() >= self.sure then
        lost()
        return false
      end
    end)
    return held()
  end,

  release = function(lock)
    stop(self.renewal)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
