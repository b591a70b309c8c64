-- Class: orders that nobody promises
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: the script looks before it takes the key only if `a` is the first pair of a table,
-- and nobody promises that.
return {
  scripts = {
    "release_if_owner",
    take = [[
      for name in pairs({ a = 1, b = 2 }) do
        if name == "a" and redis.call("exists", KEYS[1]) == 1 then return 0 end
        redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
        return 1
      end
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
