-- Class: queues
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: who pops an element takes itself for the holder and sets the lock without NX. An
-- element that was pushed while nobody waited is still there when the next one holds the lock.
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
    if on(lock.nodes[1], { timeout = 4000 }).redis("BLPOP", lock.key .. ":signal", 2) then
      if redis("SET", lock.key, lock.token, "PX", lock.ttl) then return held() end
    end
    return busy()
  end,

  release = function(lock)
    return script("give", { lock.key, lock.key .. ":signal" }, { lock.token, lock.ttl }) == 1
  end,
}
