-- Class: whose key it is
-- Check: --assume none
-- Truth: lease holds
-- Truth: honest-outcome holds
-- Truth: owner-only-release holds
-- Truth: mutual-exclusion-belief holds
-- Truth: deadlock-freedom holds
-- Because: the holder's field and the waiter's field stand in one hash. A waiter writes its
-- own field and touches neither the holder's nor the life of the key.
return {
  scripts = {
    take = [[
      if redis.call("hexists", KEYS[1], "holder") == 1 then
        redis.call("hset", KEYS[1], "waiter", ARGV[2])
        return 0
      end
      redis.call("hset", KEYS[1], "holder", ARGV[1])
      redis.call("pexpire", KEYS[1], ARGV[3])
      return 1
    ]],
    give = [[
      if redis.call("hget", KEYS[1], "holder") ~= ARGV[1] then return 0 end
      return redis.call("hdel", KEYS[1], "holder")
    ]],
  },

  acquire = function(lock)
    local got = script("take", { lock.key }, { lock.token, lock.owner, lock.ttl })
    if got == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return script("give", { lock.key }, { lock.token }) == 1
  end,
}
