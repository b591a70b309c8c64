-- Class: times as scores
-- Check: --assume none --property mutual-exclusion-belief
-- Truth: mutual-exclusion-belief holds
-- Because: who does not find itself alone takes itself away again in the same script, so whatever the letters
-- of two tokens of one ms say, one of them is there.
return {
  scripts = {
    take = [[
      redis.call("ZADD", KEYS[1], ARGV[2], ARGV[1])
      local all = redis.call("ZRANGE", KEYS[1], 0, -1)
      if #all == 1 then return 1 end
      redis.call("ZREM", KEYS[1], ARGV[1])
      return 0
    ]],
  },
  keys = { lock = "{key}" },

  acquire = function(lock)
    local got, err = script("take", { lock.key }, { lock.token, now() })
    if err then return failed(err.message) end
    return got == 1 and held() or busy()
  end,

  release = function(lock)
    return redis("ZREM", lock.key, lock.token) == 1
  end,
}
