-- Class: a renewal's thread in a handle that two threads share
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: the second thread stops what it takes for a renewal of its own that is left over, and
-- that is the renewal of the first thread, which works on for longer than the lease.
return {
  renews = true,
  callers = { count = 2, handle = "shared" },
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
