-- Class: two locks in opposite order
-- Check: --assume none
-- Truth: deadlock-freedom violated
-- Truth: mutual-exclusion-belief holds
-- Truth: owner-only-release holds
-- Truth: lease holds
-- Truth: no-orphan holds
-- Truth: release-frees holds
-- Truth: mutual-exclusion-effect unknown
-- Because: each client holds the first of its two locks, renews it, and waits for the one that
-- the other has.
return {
  renews = true,
  objects = { count = 2, order = "opposite" },
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
