-- Class: times as scores
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: owner-only-release holds
-- Check: --assume client-skew --property mutual-exclusion-validity
-- Truth: mutual-exclusion-validity violated
-- Because: the lease ends at a score. Each client purges by its own clock, so one whose clock is
-- ahead purges a lease that still runs.
return {
  scripts = {
    take = [[
      redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", ARGV[2])
      if redis.call("ZCARD", KEYS[1]) > 0 then return 0 end
      redis.call("ZADD", KEYS[1], ARGV[3], ARGV[1])
      return 1
    ]],
  },
  keys = { lock = "{key}" },

  acquire = function(lock)
    local started = now()
    local got, err = script("take", { lock.key }, { lock.token, started, started + lock.ttl })
    if err then return failed(err.message) end
    if got == 0 then return busy() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  release = function(lock)
    return redis("ZREM", lock.key, lock.token) == 1
  end,
}
