-- Class: liveness
-- Check: --assume none --property starvation-freedom
-- Truth: starvation-freedom violated
-- Because: whoever is not first at once leaves the queue again and is told that the lock is busy.
-- So its place is never better than the last one, however often it tries.
return {
  scripts = {
    enter = [[
      for _, who in ipairs(redis.call("LRANGE", KEYS[1], 0, -1)) do
        if who == ARGV[1] then return 0 end
      end
      return redis.call("RPUSH", KEYS[1], ARGV[1])
    ]],
  },

  acquire = function(lock)
    script("enter", { lock.key }, { lock.owner })
    if redis("LINDEX", lock.key, 0) == lock.owner then return held() end
    redis("LREM", lock.key, 1, lock.owner)
    return busy()
  end,

  release = function(lock)
    return redis("LREM", lock.key, 1, lock.owner) == 1
  end,
}
