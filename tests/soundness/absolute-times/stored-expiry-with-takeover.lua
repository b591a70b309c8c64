-- Class: derived and absolute times
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: owner-only-release holds
-- Truth: deadlock-freedom holds
-- Check: --assume client-crash
-- Truth: mutual-exclusion-belief holds
-- Truth: deadlock-freedom holds
-- Truth: no-orphan violated
-- Because: the value says when the lease ends. Nobody takes over before that, and then only
-- one of those who read the same value can swap it. Nobody works for longer. A dead owner's
-- key stays until somebody swaps it.
return {
  scripts = {
    swap = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      redis.call("set", KEYS[1], ARGV[2])
      return 1
    ]],
  },

  acquire = function(lock)
    local ends = now() + lock.ttl
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
