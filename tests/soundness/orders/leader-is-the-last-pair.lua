-- Class: an order that nobody promises
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: on a server of today a small hash lists its newest field last, so whoever comes
-- holds, and whoever held before works on. No order is promised either way.
return {
  scripts = {
    last = [[
      redis.call("hset", KEYS[1], ARGV[1], "1")
      local all = redis.call("hgetall", KEYS[1])
      if all[#all - 1] == ARGV[1] then return 1 end
      redis.call("hdel", KEYS[1], ARGV[1])
      return 0
    ]],
  },

  acquire = function(lock)
    if script("last", { lock.key }, { lock.owner }) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return redis("HDEL", lock.key, lock.owner) == 1
  end,
}
