-- Class: counts without a cap
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: an attempt that finds the lock of another client lowers a count that all share, and
-- the lock is given to whoever finds it at 0. It is raised by two each time that the lock is
-- free, so it is above what the model tells exactly, and comes down to 0 again.
return {
  scripts = {
    "release_if_owner",
    attempt = [[
      if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then
        redis.call('incrby', KEYS[2], 2)
        return 1
      end
      if redis.call('decr', KEYS[2]) == 0 then return 1 end
      return 0
    ]],
  },

  acquire = function(lock)
    local keys = { lock.key, lock.key .. ":count" }
    if script("attempt", keys, { lock.token, lock.ttl }) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
