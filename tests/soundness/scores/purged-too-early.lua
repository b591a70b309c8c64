-- Class: times as scores
-- Check: --assume none --property mutual-exclusion-belief
-- Truth: mutual-exclusion-belief violated
-- Because: the score is when the lease began, and the purge takes what began half a lease ago.
return {
  keys = { lock = "{key}" },
  scripts = {
    take = [[
      redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", ARGV[3])
      if redis.call("ZCARD", KEYS[1]) > 0 then return 0 end
      redis.call("ZADD", KEYS[1], ARGV[2], ARGV[1])
      return 1
    ]],
  },

  acquire = function(lock)
    local started = now()
    local arguments = { lock.token, started, started - lock.ttl / 3 }
    local got, err = script("take", { lock.key }, arguments)
    if err then return failed(err.message) end
    return got == 1 and held() or busy()
  end,

  release = function(lock)
    return redis("ZREM", lock.key, lock.token) == 1
  end,
}
