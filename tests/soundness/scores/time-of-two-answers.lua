-- Class: times as scores
-- Check: --assume none
-- Truth: refused line 18
-- Because: the seconds are of one answer of TIME and the microseconds of another: between them a second may
-- begin, and what they make together is no time.
return {
  keys = { lock = "{key}" },
  scripts = {
    take = [[
      local now = redis.call("TIME")[1] * 1000 + math.floor(redis.call("TIME")[2] / 1000)
      redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now)
      if redis.call("ZCARD", KEYS[1]) > 0 then return 0 end
      return redis.call("ZADD", KEYS[1], now + ARGV[2], ARGV[1])
    ]],
  },

  acquire = function(lock)
    local got = script("take", { lock.key }, { lock.token, lock.ttl })
    if got == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return redis("ZREM", lock.key, lock.token) == 1
  end,
}
