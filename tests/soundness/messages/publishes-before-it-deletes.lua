-- Class: messages
-- Check: --assume none
-- Truth: no-lost-wake-up violated
-- Because: the message comes before the key is gone. The waiter looks, finds the key, listens on,
-- and nothing tells it of the deletion.
return {
  scripts = {
    give = [[
      if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
      return redis.call("DEL", KEYS[1])
    ]],
  },

  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    local _, deaf = subscribe("freed")
    if deaf then return failed(deaf.message) end
    for _ = 1, 2 do
      if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
      wait(lock.ttl)
    end
    unsubscribe("freed")
    return busy()
  end,

  release = function(lock)
    redis("PUBLISH", "freed", "1")
    return script("give", { lock.key }, { lock.token }) == 1
  end,
}
