-- Class: tokens and owners are not plain texts
-- Check: --assume overrun
-- Truth: owner-only-release holds
-- Truth: honest-outcome holds
-- Truth: mutual-exclusion-belief violated
-- Because: the token is a field's name, which is asked for and compared as a whole. A late
-- release finds no field of its own. Work that outlasts the lease meets the next owner.
return {
  scripts = {
    take = [[
      if redis.call("exists", KEYS[1]) == 1 then return 0 end
      redis.call("hset", KEYS[1], ARGV[1], "1")
      redis.call("pexpire", KEYS[1], ARGV[2])
      return 1
    ]],
    give = [[
      if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then return 0 end
      return redis.call("del", KEYS[1])
    ]],
  },

  acquire = function(lock)
    if script("take", { lock.key }, { lock.token, lock.ttl }) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return script("give", { lock.key }, { lock.token }) == 1
  end,
}
