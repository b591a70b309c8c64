-- Class: an order that nobody promises
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: Lua goes through a table in an order that depends on the letters of its keys: for
-- half of all pairs of tokens the script takes the key of an owner who works.
return {
  scripts = {
    "release_if_owner",
    take = [[
      local holder = redis.call("get", KEYS[1])
      local first = ARGV[1]
      if holder then
        for token in pairs({ [holder] = 1, [ARGV[1] ] = 2 }) do
          first = token
          break
        end
      end
      if first ~= ARGV[1] then return 0 end
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
