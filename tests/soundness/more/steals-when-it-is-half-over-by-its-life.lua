-- Class: plain races
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: as in steals-the-last-half-second.lua, but the script asks for the life that is
-- left.
return {
  scripts = {
    "release_if_owner",
    take = [[
      local left = redis.call("pttl", KEYS[1])
      local half = left > 1400 and left < 1600
      if not half and left ~= -2 then return 0 end
      redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
      return 1
    ]],
  },

  acquire = function(lock)
    if script("take", { lock.key }, { lock.token, lock.ttl }) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
