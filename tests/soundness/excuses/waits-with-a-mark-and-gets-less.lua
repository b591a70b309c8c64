-- Class: outcomes as excuses
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: while it waits, a client writes its mark into the lock's hash. Who has waited for a
-- whole lease gets a key that lives for one second, and works for three from then on.
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
    for attempt = 1, 5 do
      local life = attempt < 4 and lock.ttl or 1000
      local got = script("take", { lock.key }, { lock.token, lock.owner, life })
      if got == 1 then return held() end
      if attempt < 5 then sleep(1000) end
    end
    return busy()
  end,

  release = function(lock)
    return script("give", { lock.key }, { lock.token }) == 1
  end,
}
