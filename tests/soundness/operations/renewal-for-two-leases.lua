-- Class: what a holder asks of its lock
-- Check: --assume none
-- Truth: lease violated
-- Truth: honest-outcome holds
-- Truth: mutual-exclusion-belief holds
-- Because: the renewal gives the key twice the lease that was asked for: who dies then blocks
-- the others for that long.
return {
  scripts = {
    "release_if_owner",
    extend = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      return redis.call("pexpire", KEYS[1], ARGV[2])
    ]],
  },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held()
  end,

  renew = function(lock)
    local extended, err = script("extend", { lock.key }, { lock.token, 2 * lock.ttl })
    if err then return failed(err.message) end
    return extended == 1
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
