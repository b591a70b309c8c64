-- Class: queues
-- Check: --assume client-crash --clients 3
-- Truth: no-lost-wake-up violated
-- Truth: mutual-exclusion-belief holds
-- Because: the element goes to the one who has waited longest. If that client dies with it, or
-- the server does not know yet that it is gone, the other one sleeps on, while the lock is free.
return {
  keys = { lock = "{key}", queue = { "{key}:signal" } },
  scripts = {
    give = [[
      if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
      redis.call("DEL", KEYS[1], KEYS[2])
      redis.call("RPUSH", KEYS[2], ARGV[1])
      redis.call("PEXPIRE", KEYS[2], ARGV[2])
      return 1
    ]],
  },

  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    on(lock.nodes[1], { timeout = 4000 }).redis("BLPOP", lock.key .. ":signal", 2)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("give", { lock.key, lock.key .. ":signal" }, { lock.token, lock.ttl }) == 1
  end,
}
