-- Class: liveness
-- Check: --assume none
-- Truth: starvation-freedom holds
-- Because: a client that polls without a pause lets nobody wait: others run between its steps, and
-- its own come at last as well.
return {
  fair = true,
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
    while redis("LINDEX", lock.key, 0) ~= lock.owner do end
    return held()
  end,

  release = function(lock)
    return redis("LREM", lock.key, 1, lock.owner) == 1
  end,
}
