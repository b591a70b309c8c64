-- Class: plain races
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: as in steals-when-it-is-half-over.lua, but the script compares the times.
return {
  scripts = {
    take = [[
      local since = tonumber(redis.call("get", KEYS[1]) or ARGV[1])
      local age = tonumber(ARGV[1]) - since
      local half = age > 1400 and age < 1600
      if not half and redis.call("exists", KEYS[1]) == 1 then return 0 end
      redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
      return 1
    ]],
  },

  acquire = function(lock)
    if script("take", { lock.key }, { now(), lock.ttl }) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
