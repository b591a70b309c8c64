-- Class: whose key it is
-- Check: --assume none
-- Truth: honest-outcome holds
-- Truth: owner-only-release holds
-- Truth: mutual-exclusion-belief holds
-- Because: each client puts its name at the end of the list and takes that same item away
-- again, also when another's stands behind it. Whose name is first has the lock. (There are two clients.)
return {
  scripts = {
    join = [[
      if redis.call("llen", KEYS[1]) < 2 then redis.call("rpush", KEYS[1], ARGV[1]) end
      return redis.call("lindex", KEYS[1], 0)
    ]],
  },

  acquire = function(lock)
    if script("join", { lock.key }, { lock.owner }) == lock.owner then return held() end
    redis("LREM", lock.key, 1, lock.owner)
    return busy()
  end,

  release = function(lock)
    return redis("LREM", lock.key, 1, lock.owner) == 1
  end,
}
