-- Class: times as scores
-- Check: --assume none
-- Truth: refused line 15
-- Because: whether a time lies before a day in 2020 depends on when it runs.
return {
  keys = { lock = "{key}" },
  scripts = {
    take = [[
      redis.call("ZADD", KEYS[1], ARGV[2], ARGV[1])
      return redis.call("ZCOUNT", KEYS[1], "-inf", "1600000000000")
    ]],
  },

  acquire = function(lock)
    local before, err = script("take", { lock.key }, { lock.token, now() })
    if err or before > 0 then return busy() end
    return held()
  end,

  release = function(lock)
    return redis("ZREM", lock.key, lock.token) == 1
  end,
}
