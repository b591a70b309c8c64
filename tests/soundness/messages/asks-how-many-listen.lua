-- Class: messages
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: the reply to PUBLISH says how many listen. Two clients ask before either listens, and
-- each takes the lock for free.
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
    local listeners = redis("PUBLISH", "held", "?")
    if listeners ~= 0 then return busy() end
    subscribe("held")
    return held()
  end,

  release = function(lock)
    unsubscribe("held")
    return script("give", { lock.key }, { lock.token }) == 1
  end,
}
