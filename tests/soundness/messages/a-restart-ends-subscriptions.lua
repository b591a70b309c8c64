-- Class: messages
-- Check: --assume node-restart-always
-- Truth: no-lost-wake-up violated
-- Truth: mutual-exclusion-belief holds
-- Because: a server that starts again has all its keys and no connection. It publishes to nobody.
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
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    local _, deaf = subscribe("freed")
    if deaf then return failed(deaf.message) end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    wait(lock.ttl)
    unsubscribe("freed")
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("give", { lock.key }, { lock.token }) == 1
  end,
}
