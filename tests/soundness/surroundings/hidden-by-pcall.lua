-- Class: what surrounds a script
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: real servers have math.random, so the protected call succeeds, and the script takes
-- the key without a look.
return {
  scripts = {
    "release_if_owner",
    take = [[
      local fine = pcall(function() return math.random(3) end)
      if not fine and redis.call("exists", KEYS[1]) == 1 then return 0 end
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
