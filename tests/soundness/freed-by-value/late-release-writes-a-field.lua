-- Class: freed by value
-- Check: --assume none
-- Truth: owner-only-release holds
-- Check: --assume overrun
-- Truth: owner-only-release violated
-- Because: the release writes "nobody" into the holder's field whoever that is. After work
-- that outlasted the lease, that is the next owner.
return {
  scripts = {
    take = [[
      local holder = redis.call("hget", KEYS[1], "holder")
      if holder and holder ~= "nobody" then return 0 end
      redis.call("hset", KEYS[1], "holder", ARGV[1])
      redis.call("pexpire", KEYS[1], ARGV[2])
      return 1
    ]],
    give = [[
      if redis.call("exists", KEYS[1]) == 0 then return 0 end
      redis.call("hset", KEYS[1], "holder", "nobody")
      return 1
    ]],
  },

  acquire = function(lock)
    if script("take", { lock.key }, { lock.token, lock.ttl }) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return script("give", { lock.key }) == 1
  end,
}
