-- Class: tokens and owners are not plain texts
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: a waiter that finds the same token four times, a second apart, takes the lock from
-- an owner who renews it and works.
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
    local token, seen, times = lock.token, nil, 0
    while not redis("SET", lock.key, token, "NX", "PX", lock.ttl) do
      local holder = redis("GET", lock.key)
      if holder == seen then times = times + 1 else times = 1 end
      seen = holder
      if times == 4 then
        redis("SET", lock.key, token, "PX", lock.ttl)
        break
      end
      sleep(1000)
    end
    self.renewal = every(lock.ttl / 3, function()
      script("extend", { lock.key }, { token, lock.ttl })
    end)
    return held()
  end,

  release = function(lock)
    stop(self.renewal)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
