-- Class: a renewal of each of two locks
-- Check: --assume none --property mutual-exclusion-belief
-- Truth: mutual-exclusion-belief holds
-- Because: what a release stops is the renewal of the lock that it gives back.
return {
  renews = true,
  objects = { count = 2, state = "own" },
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
    stop(self.renewal)
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
