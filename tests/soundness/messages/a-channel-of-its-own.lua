-- Class: messages
-- Check: --assume none
-- Truth: no-lost-wake-up violated
-- Truth: assertion holds
-- Because: who releases publishes on the channel that has its own name, on which nobody waits.
return {
  keys = { lock = "{key}", queue = { "{key}:queue" } },
  scripts = {
    join = [[
      if redis.call("SET", KEYS[1], ARGV[2], "NX", "PX", ARGV[3]) then
        redis.call("LREM", KEYS[2], 0, ARGV[1])
        return 1
      end
      redis.call("LREM", KEYS[2], 0, ARGV[1])
      redis.call("RPUSH", KEYS[2], ARGV[1])
      return 0
    ]],
    give = [[
      if redis.call("GET", KEYS[1]) ~= ARGV[1] then return -1 end
      redis.call("DEL", KEYS[1])
      local first = redis.call("LINDEX", KEYS[2], 0)
      if not first then return -2 end
      return redis.call("PUBLISH", "freed:" .. ARGV[2], "1")
    ]],
  },

  acquire = function(lock)
    local keys, args = { lock.key, lock.key .. ":queue" }, { lock.owner, lock.token, lock.ttl }
    if script("join", keys, args) == 1 then return held() end
    local _, deaf = subscribe("freed:" .. lock.owner)
    if deaf then return failed(deaf.message) end
    if script("join", keys, args) == 1 then
      unsubscribe("freed:" .. lock.owner)
      return held()
    end
    local said, channel = wait(lock.ttl)
    assert_(not said or channel == "freed:" .. lock.owner, "it is told on its own channel")
    unsubscribe("freed:" .. lock.owner)
    if script("join", keys, args) == 1 then return held() end
    redis("LREM", lock.key .. ":queue", 0, lock.owner)
    return busy()
  end,

  release = function(lock)
    local keys = { lock.key, lock.key .. ":queue" }
    local told = script("give", keys, { lock.token, lock.owner })
    return told ~= -1
  end,
}
