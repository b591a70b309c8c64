-- Class: tokens and owners are not plain texts
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: of two random tokens one is the greater; with that one a client writes over the key
-- of an owner who works.
return {
  scripts = {
    "release_if_owner",
    take = [[
      local holder = redis.call("get", KEYS[1])
      if holder and holder >= ARGV[1] then return 0 end
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
