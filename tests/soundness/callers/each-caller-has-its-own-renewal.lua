-- Class: a renewal's thread in the handle of each of two threads
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Because: nobody stops another thread's renewal, since nobody knows it.
return {
  renews = true,
  callers = { count = 2 },
  scripts = {
    "release_if_owner",
    extend = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      return redis.call("pexpire", KEYS[1], ARGV[2])
    ]],
  },

  acquire = function(lock)
    stop(self.renewal)
    self.renewal = nil
    local token = lock.token
    if not redis("SET", lock.key, token, "NX", "PX", lock.ttl) then return busy() end
    self.renewal = every(1000, function()
      if script("extend", { lock.key }, { token, lock.ttl }) == 0 then return false end
    end)
    return held()
  end,

  release = function(lock)
    stop(self.renewal)
    self.renewal = nil
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
