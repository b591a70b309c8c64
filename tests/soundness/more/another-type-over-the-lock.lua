-- Class: plain races
-- Check: --assume none
-- Truth: owner-only-release violated
-- Truth: mutual-exclusion-belief violated
-- Because: who finds the lock taken replaces it by a hash, with nobody's token in it, and
-- holds.
return {
  scripts = {
    take = [[
      local kind = redis.call("type", KEYS[1]).ok
      if kind == "none" then
        redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
        return 1
      end
      if kind == "hash" then return 0 end
      redis.call("del", KEYS[1])
      redis.call("hset", KEYS[1], "by", ARGV[1])
      redis.call("pexpire", KEYS[1], ARGV[2])
      return 1
    ]],
  },

  acquire = function(lock)
    if script("take", { lock.key }, { lock.token, lock.ttl }) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
