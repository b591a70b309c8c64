-- Class: liveness
-- Check: --assume none
-- Truth: starvation-freedom holds
-- Because: a hold may take any time here, but each one ends; a run on which a holder works for
-- ever is none that the lock answers for.
return {
  fair = true,
  renews = true,
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
    while redis("LINDEX", lock.key, 0) ~= lock.owner do sleep(1000) end
    return held()
  end,

  release = function(lock)
    return redis("LREM", lock.key, 1, lock.owner) == 1
  end,
}
