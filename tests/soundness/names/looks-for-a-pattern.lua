-- Class: tokens and owners are not plain texts
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: a token may begin with a digit, and with one the script takes whatever is there.
return {
  scripts = {
    "release_if_owner",
    take = [[
      if not string.match(ARGV[1], "^%d") and redis.call("exists", KEYS[1]) == 1 then return 0 end
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
