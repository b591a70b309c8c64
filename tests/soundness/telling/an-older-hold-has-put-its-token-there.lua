-- Class: what a lock tells its caller of a loss
-- Check: --assume none --clients 1
-- Truth: no-false-alarm holds
-- Because: the thread of an older hold, which nobody stopped, writes its token over the present one.
-- The renewal finds a token that is not its own. The client's own it is, but not this hold's.
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
    if not redis("SET", lock.key, token, "NX", "PX", ttl) then return busy() end
    if self.older then stop(self.older) end
    self.older = self.renewal
    self.renewal = spawn(function()
      sleep(ttl / 3)
      redis("SET", lock.key, token, "XX", "PX", ttl)
    end)
    return held()
  end,

  renew = function(lock)
    local extended, err = script("extend", { lock.key }, { lock.token, lock.ttl })
    if err then return failed(err.message) end
    if extended == 0 then return lost() end
    return true
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
