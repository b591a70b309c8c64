-- Class: what a holder asks of its lock
-- Check: --assume none
-- Truth: honest-outcome violated
-- Truth: lease holds
-- Truth: mutual-exclusion-validity holds
-- Because: the lock is prolonged on the server, and the success that is reported states a
-- validity that is over.
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
    if script("extend", { lock.key }, { lock.token, lock.ttl }) ~= 1 then return lost() end
    return held { validity = 0 }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
