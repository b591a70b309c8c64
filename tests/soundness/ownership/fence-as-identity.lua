-- Class: whose key it is
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: the key's value is the fence of its owner. A client that comes draws the next one,
-- which is another, and takes that for a sign that the key is old.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = {
    take = [[
      local fence = redis.call("incr", KEYS[2])
      local holder = redis.call("get", KEYS[1])
      if holder and holder == tostring(fence) then return 0 end
      redis.call("set", KEYS[1], tostring(fence), "PX", ARGV[1])
      return 1
    ]],
  },

  acquire = function(lock)
    local got = script("take", { lock.key, lock.key .. ":fence" }, { lock.ttl })
    if got == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
