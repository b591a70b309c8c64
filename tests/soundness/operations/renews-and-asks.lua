-- Class: what a holder asks of its lock
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: mutual-exclusion-effect holds
-- Truth: honest-outcome holds
-- Truth: lease holds
-- Truth: owner-only-release holds
-- Truth: release-frees holds
-- Truth: deadlock-freedom holds
-- Check: --assume loss
-- Truth: mutual-exclusion-validity holds
-- Truth: honest-outcome holds
-- Truth: lease holds
-- Check: --assume node-flush
-- Truth: honest-outcome holds
-- Truth: owner-only-release holds
-- Truth: mutual-exclusion-validity violated
-- Because: the renewal compares and prolongs in one step, and the answer to the question is
-- what the server has. A reply that does not come is no answer. A validity is counted from before
-- the request, so a late reply promises less. When the server loses its keys, the next who
-- comes gets the lock, and the holder's validity goes on.
return {
  scripts = {
    "release_if_owner",
    extend = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      return redis.call("pexpire", KEYS[1], ARGV[2])
    ]],
  },

  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  renew = function(lock)
    local started = now()
    local extended, err = script("extend", { lock.key }, { lock.token, lock.ttl })
    if err then return failed(err.message) end
    if extended == 0 then return lost() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  is_held = function(lock)
    local value, err = redis("GET", lock.key)
    if err then return failed(err.message) end
    return value == lock.token
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
