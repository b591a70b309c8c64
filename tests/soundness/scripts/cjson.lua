-- Class: what a script really uses
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Truth: deadlock-freedom holds
-- Check: --assume overrun
-- Truth: owner-only-release holds
-- Check: --assume loss
-- Truth: mutual-exclusion-belief violated
-- Because: the token comes out of the JSON text as it went in, so the lock is the token lock:
-- a late release deletes nothing of others. When the request of take is lost, the client gets
-- neither 0 nor 1, takes that for a success, and another client acquires.
return {
  scripts = {
    take = [[
      local value = cjson.encode({ owner = ARGV[1] })
      if redis.call("set", KEYS[1], value, "NX", "PX", ARGV[2]) then return 1 end
      return 0
    ]],
    give = [[
      local value = redis.call("get", KEYS[1])
      if value and cjson.decode(value).owner == ARGV[1] then return redis.call("del", KEYS[1]) end
      return 0
    ]],
  },

  acquire = function(lock)
    local got, err = script("take", { lock.key }, { lock.token, lock.ttl })
    if err and err.definite then return failed(err.message) end
    if got == 0 then return busy() end
    return held()
  end,

  release = function(lock)
    return script("give", { lock.key }, { lock.token }) == 1
  end,
}
