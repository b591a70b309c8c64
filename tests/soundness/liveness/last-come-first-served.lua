-- Class: liveness
-- Check: --assume none --property starvation-freedom,deadlock-freedom
-- Truth: starvation-freedom violated
-- Truth: deadlock-freedom holds
-- Because: whoever comes stands in front. Who has given the lock back comes again, before the other
-- has looked, and so on for ever.
return {
  keys = { lock = "{key}", queue = "{key}:queue" },
  scripts = {
    enter = [[
      for _, who in ipairs(redis.call("LRANGE", KEYS[1], 0, -1)) do
        if who == ARGV[1] then return 0 end
      end
      return redis.call("LPUSH", KEYS[1], ARGV[1])
    ]],
    take = [[
      if redis.call("EXISTS", KEYS[1]) == 1 then return 0 end
      if redis.call("LINDEX", KEYS[2], 0) ~= ARGV[2] then return 0 end
      redis.call("LPOP", KEYS[2])
      redis.call("SET", KEYS[1], ARGV[1])
      return 1
    ]],
    "release_if_owner",
  },

  acquire = function(lock)
    local keys = { lock.key, lock.key .. ":queue" }
    script("enter", { lock.key .. ":queue" }, { lock.owner })
    while script("take", keys, { lock.token, lock.owner }) ~= 1 do sleep(1000) end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
