-- Class: times as scores
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: owner-only-release holds
-- Truth: starvation-freedom violated
-- Check: --assume client-crash --property no-orphan
-- Truth: no-orphan violated
-- Check: --assume client-skew --property mutual-exclusion-belief
-- Truth: mutual-exclusion-belief holds
-- Because: a fair lock as Redisson's, whose waiters stand in a list, each until a time of its own. Clocks
-- decide who stands there, and the hash who holds. Who has waited for as long as it may leaves, and comes back
-- behind those who came later: nothing promises that it ever acquires. A waiter that died stands there until
-- somebody else asks.
return {
  fair = true,
  keys = { lock = "{key}", queue = { "{key}:queue", "{key}:until" } },
  params = { wait = { default = 1000, check = 1000 } },
  scripts = {
    take = [[
      local now = tonumber(ARGV[4])
      local first = redis.call('lindex', KEYS[2], 0)
      while first do
        if tonumber(redis.call('zscore', KEYS[3], first)) > now then break end
        redis.call('zrem', KEYS[3], first)
        redis.call('lpop', KEYS[2])
        first = redis.call('lindex', KEYS[2], 0)
      end
      local free = redis.call('exists', KEYS[1]) == 0
      if free and (not first or first == ARGV[2]) then
        redis.call('lpop', KEYS[2])
        redis.call('zrem', KEYS[3], ARGV[2])
        redis.call('hset', KEYS[1], ARGV[2], 1)
        redis.call('pexpire', KEYS[1], ARGV[1])
        return 1
      end
      if not redis.call('zscore', KEYS[3], ARGV[2]) then
        redis.call('zadd', KEYS[3], now + ARGV[3], ARGV[2])
        redis.call('rpush', KEYS[2], ARGV[2])
      end
      return 0
    ]],
    leave = [[
      redis.call('zrem', KEYS[2], ARGV[1])
      return redis.call('lrem', KEYS[1], 0, ARGV[1])
    ]],
  },

  acquire = function(lock)
    local began = monotonic()
    local queue, times = lock.key .. ":queue", lock.key .. ":until"
    while true do
      local arguments = { lock.ttl, lock.owner, lock.params.wait, now() }
      local got, err = script("take", { lock.key, queue, times }, arguments)
      if err then return failed(err.message) end
      if got == 1 then return held() end
      if monotonic() - began >= lock.params.wait then break end
      sleep(1000)
    end
    script("leave", { queue, times }, { lock.owner })
    return busy()
  end,

  release = function(lock)
    return redis("HDEL", lock.key, lock.owner) == 1
  end,
}
