-- Class: times as scores
-- Check: --assume none --property assertion --property mutual-exclusion-belief
-- Truth: assertion holds
-- Truth: mutual-exclusion-belief holds
-- Check: --assume clock-jump --property assertion
-- Truth: assertion holds
-- Because: GT never lets a score fall, and a score that was read is one that was there or an earlier one.
return {
  keys = { lock = "{key}", queue = { "{key}:seen" } },
  scripts = {
    take = [[
      local t = redis.call("TIME")
      local now = t[1] * 1000 + math.floor(t[2] / 1000)
      local before = redis.call("ZSCORE", KEYS[2], "last")
      redis.call("ZADD", KEYS[2], "GT", now, "last")
      local after = redis.call("ZSCORE", KEYS[2], "last")
      if before and tonumber(after) < tonumber(before) - 1000 then return -1 end
      if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return 1 end
      return 0
    ]],
    "release_if_owner",
  },

  acquire = function(lock)
    local got, err = script("take", { lock.key, lock.key .. ":seen" }, { lock.token, lock.ttl })
    if err then return failed(err.message) end
    assert_(got ~= -1, "a score that may only grow has not fallen")
    return got == 1 and held() or busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
