-- Class: freed by value
-- Check: --assume none
-- Truth: owner-only-release holds
-- Truth: lease holds
-- Check: --assume overrun
-- Truth: owner-only-release violated
-- Because: the release removes the holder's field whoever that is. After work that outlasted
-- the lease, that is the next owner.
return {
  scripts = {
    take = [[
      if redis.call("hsetnx", KEYS[1], "holder", ARGV[1]) == 0 then return 0 end
      redis.call("hset", KEYS[1], "mode", "write")
      redis.call("pexpire", KEYS[1], ARGV[2])
      return 1
    ]],
  },

  acquire = function(lock)
    if script("take", { lock.key }, { lock.token, lock.ttl }) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return redis("HDEL", lock.key, "holder") == 1
  end,
}
