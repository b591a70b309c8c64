-- Class: two locks in one order
-- Check: --assume none
-- Truth: deadlock-freedom holds
-- Truth: mutual-exclusion-belief holds
-- Truth: release-frees holds
-- Because: whoever has the first lock finds nobody who has the second and waits for the first.
return {
  renews = true,
  objects = { count = 2, order = "same" },
  scripts = {
    "release_if_owner",
    extend = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      return redis.call("pexpire", KEYS[1], ARGV[2])
    ]],
  },

  acquire = function(lock)
    local token = lock.token
    while not redis("SET", lock.key, token, "NX", "PX", lock.ttl) do sleep(1000) end
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
