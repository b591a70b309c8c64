-- Class: messages
-- Check: --assume none
-- Truth: no-lost-wake-up holds
-- Truth: mutual-exclusion-belief holds
-- Because: who listens, looks again, and waits only then hears every later release: a server
-- sends a message to all who listen, and nothing is lost without a fault.
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
