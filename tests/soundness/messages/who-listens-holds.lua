-- Class: messages
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Because: the reply to PUBLISH counts those who listen, the sender among them. Who listens first
-- and is alone may hold: of two, the one that asks later counts both.
return {
  scripts = {
    give = [[
      if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
      redis.call("DEL", KEYS[1])
      redis.call("PUBLISH", "freed", "1")
      return 1
    ]],
  },

  acquire = function(lock)
    redis("SET", lock.key, lock.token, "PX", lock.ttl)
    subscribe("held")
    local listeners = redis("PUBLISH", "held", "?")
    if listeners ~= 1 then
      unsubscribe("held")
      return busy()
    end
    return held()
  end,

  release = function(lock)
    unsubscribe("held")
    return script("give", { lock.key }, { lock.token }) == 1
  end,
}
