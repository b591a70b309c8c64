-- Class: times as scores
-- Check: --ttl-ticks 1 --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: deadlock-freedom holds
-- Check: --ttl-ticks 1 --assume client-crash
-- Truth: mutual-exclusion-belief holds
-- Truth: deadlock-freedom holds
-- Truth: no-orphan violated
-- Because: a seat ends ten leases after it was taken, and whoever comes then clears it. So a dead
-- client's seat stays for long after its lease, and not for ever.
return {
  scripts = {
    take = [[
      redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", ARGV[2])
      if redis.call("ZCARD", KEYS[1]) > 0 then return 0 end
      redis.call("ZADD", KEYS[1], ARGV[3], ARGV[1])
      return 1
    ]],
  },
  keys = { lock = "{key}" },

  acquire = function(lock)
    local got, err = script("take", { lock.key }, { lock.token, now(), now() + 10 * lock.ttl })
    if err then return failed(err.message) end
    if got == 0 then return busy() end
    return held()
  end,

  release = function(lock)
    return redis("ZREM", lock.key, lock.token) == 1
  end,
}
