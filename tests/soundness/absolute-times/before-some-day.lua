-- Class: derived and absolute times
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: until a day in May 2033 the script takes the key without a look, and two clients
-- hold.
return {
  scripts = {
    "release_if_owner",
    take = [[
      if tonumber(ARGV[2]) >= 2000000000000 and redis.call("exists", KEYS[1]) == 1 then return 0 end
      redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[3])
      return 1
    ]],
  },

  acquire = function(lock)
    local got = script("take", { lock.key }, { lock.token, now(), lock.ttl })
    if got == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
