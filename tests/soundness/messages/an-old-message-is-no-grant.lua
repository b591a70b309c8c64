-- Class: messages
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: the waiter takes any message for its turn. One that was sent before it waited, of a lock
-- that another client has by now, is kept for it.
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
    local told = wait(lock.ttl)
    unsubscribe("freed")
    if told then return held() end
    return busy()
  end,

  release = function(lock)
    return script("give", { lock.key }, { lock.token }) == 1
  end,
}
