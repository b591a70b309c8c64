-- Class: times beyond the horizon
-- Check: --ttl-ticks 2 --assume client-crash
-- Truth: deadlock-freedom holds
-- Truth: mutual-exclusion-belief holds
-- Truth: no-orphan violated
-- Truth: lease violated
-- Because: a dead owner's key stays, but four leases after its stamp a waiter swaps the stamp
-- in one script, so nobody is locked out for ever. A living owner has released long before.
-- The key itself never expires, which violates lease, and no-orphan once its owner is dead.
return {
  scripts = {
    swap = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      redis.call("set", KEYS[1], ARGV[2])
      return 1
    ]],
  },

  acquire = function(lock)
    if redis("SETNX", lock.key, now()) == 1 then return held() end
    local old = redis("GET", lock.key)
    local since = time(old)
    if not since or now() - since <= 4 * lock.ttl then return busy() end
    if script("swap", { lock.key }, { old, now() }) ~= 1 then return busy() end
    return held()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
