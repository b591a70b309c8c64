-- Class: messages
-- Check: --assume loss
-- Truth: mutual-exclusion-belief holds
-- Because: a client that gives up SUBSCRIBE closes its connection; a late reply or message reaches
-- nobody, and the lock is still one key with a token.
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
    subscribe("freed")
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
