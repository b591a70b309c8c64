-- Class: freed by value
-- Check: --assume none
-- Truth: owner-only-release holds
-- Truth: release-frees holds
-- Check: --assume overrun
-- Truth: owner-only-release violated
-- Because: the release writes "free" whatever is there. After work that outlasted the lease,
-- that is the next owner's token, and whoever comes takes the lock.
return {
  scripts = {
    take = [[
      local value = redis.call("get", KEYS[1])
      if value and value ~= "free" then return 0 end
      redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
      return 1
    ]],
  },

  acquire = function(lock)
    if script("take", { lock.key }, { lock.token, lock.ttl }) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return redis("SET", lock.key, "free", "KEEPTTL") == "OK"
  end,
}
