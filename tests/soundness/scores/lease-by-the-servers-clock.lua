-- Class: times as scores
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: owner-only-release holds
-- Check: --assume client-skew --property mutual-exclusion-belief
-- Truth: mutual-exclusion-belief holds
-- Check: --assume clock-jump --property mutual-exclusion-belief
-- Truth: mutual-exclusion-belief violated
-- Because: only the server's clock says when a lease is over, and the client says nothing of how long
-- it lasts on its own. So no client's clock matters, and a jump of the server's does.
return {
  scripts = {
    take = [[
      local t = redis.call("TIME")
      local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
      redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now)
      if redis.call("ZCARD", KEYS[1]) > 0 then return 0 end
      redis.call("ZADD", KEYS[1], now + ARGV[2], ARGV[1])
      return 1
    ]],
  },
  keys = { lock = "{key}" },

  acquire = function(lock)
    local got, err = script("take", { lock.key }, { lock.token, lock.ttl })
    if err then return failed(err.message) end
    return got == 1 and held() or busy()
  end,

  release = function(lock)
    return redis("ZREM", lock.key, lock.token) == 1
  end,
}
