-- Class: times beyond the horizon
-- Check: --ttl-ticks 1 --assume client-crash
-- Truth: deadlock-freedom holds
-- Truth: mutual-exclusion-belief holds
-- Check: --ttl-ticks 1 --assume overrun
-- Truth: mutual-exclusion-belief violated
-- Because: the stored time lies ten leases ahead, and comes nearer. When it has passed, one
-- waiter swaps it: a dead owner keeps the others out until then and no longer, and one whose
-- work takes more than ten leases shares the lock.
return {
  scripts = {
    swap = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      redis.call("set", KEYS[1], ARGV[2])
      return 1
    ]],
  },

  acquire = function(lock)
    local ends = now() + 10 * lock.ttl
    if redis("SETNX", lock.key, ends) == 1 then return held() end
    local old = redis("GET", lock.key)
    local stored = time(old)
    if not stored or stored >= now() then return busy() end
    if script("swap", { lock.key }, { old, ends }) ~= 1 then return busy() end
    return held()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
