-- Class: liveness
-- Check: --assume none
-- Truth: starvation-freedom holds
-- Truth: deadlock-freedom holds
-- Check: --assume client-crash --property starvation-freedom
-- Truth: starvation-freedom violated
-- Because: whoever comes joins the end of a queue and waits until it is first. Every hold ends, so
-- each gets its turn. If the first one dies, its place never ends, and the others wait for ever.
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
    while redis("LINDEX", lock.key, 0) ~= lock.owner do sleep(1000) end
    return held()
  end,

  release = function(lock)
    return redis("LREM", lock.key, 1, lock.owner) == 1
  end,
}
