-- Class: names
-- Check: --assume none
-- Truth: mutual-exclusion-validity not-holds
-- Because: two clients that come one millisecond apart have each a field of its own, and both
-- are valid for half a second.
return {
  scripts = {
    take = [[
      if redis.call("hsetnx", KEYS[1], ARGV[1], ARGV[2]) == 0 then return 0 end
      return redis.call("pexpire", KEYS[1], 500)
    ]],
  },

  acquire = function(lock)
    local mine = now()
    if script("take", { lock.key }, { mine, lock.owner }) ~= 1 then return busy() end
    return held(500 - (now() - mine))
  end,

  release = function(lock)
  end,
}
