-- Class: times as scores
-- Check: --assume none --property mutual-exclusion-validity --property assertion
-- Truth: mutual-exclusion-validity holds
-- Truth: assertion holds
-- Because: the score is the clock plus the lease, in two steps of one script. Read back it is a time, a
-- lease after the start.
return {
  keys = { lock = "{key}" },
  scripts = {
    take = [[
      redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", "(" .. ARGV[2])
      if redis.call("ZCARD", KEYS[1]) > 0 then return 0 end
      redis.call("ZADD", KEYS[1], "NX", ARGV[2], ARGV[1])
      redis.call("ZINCRBY", KEYS[1], ARGV[3], ARGV[1])
      return redis.call("ZSCORE", KEYS[1], ARGV[1])
    ]],
  },

  acquire = function(lock)
    local started = now()
    local ends, err = script("take", { lock.key }, { lock.token, started, lock.ttl })
    if err then return failed(err.message) end
    if ends == 0 then return busy() end
    local length = time(ends) - started
    assert_(length > lock.ttl - 1000 and length < lock.ttl + 1000, "it ends a lease after its start")
    return held { validity = time(ends) - now() }
  end,

  release = function(lock)
    return redis("ZREM", lock.key, lock.token) == 1
  end,
}
