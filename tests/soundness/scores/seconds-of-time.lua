-- Class: times as scores
-- Check: --assume none
-- Truth: refused line 18
-- Because: a whole number of seconds depends on how the clock's seconds lie to the lock's leases, which the
-- model does not have. It says so.
return {
  keys = { lock = "{key}" },
  scripts = {
    take = [[
      local second = tonumber(redis.call("TIME")[1])
      redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", second)
      if redis.call("ZCARD", KEYS[1]) > 0 then return 0 end
      return redis.call("ZADD", KEYS[1], second + 3, ARGV[1])
    ]],
  },

  acquire = function(lock)
    local got = script("take", { lock.key }, { lock.token })
    if got == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return redis("ZREM", lock.key, lock.token) == 1
  end,
}
