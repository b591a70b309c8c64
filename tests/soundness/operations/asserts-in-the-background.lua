-- Class: what a lock asserts of itself
-- Check: --assume none
-- Truth: assertion holds
-- Check: --assume node-flush
-- Truth: assertion violated
-- Because: the thread that renews finds the key each time, unless the server has lost it.
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
    if not redis("SET", lock.key, token, "NX", "PX", lock.ttl) then return busy() end
    self.renewal = every(lock.ttl / 3, function()
      local extended, err = script("extend", { lock.key }, { token, lock.ttl })
      assert_(err or extended == 1, "there is something to renew")
    end)
    return held()
  end,

  release = function(lock)
    stop(self.renewal)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
