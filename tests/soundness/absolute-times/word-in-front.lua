-- Class: derived and absolute times
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: behind the token and a colon stands a time that ends a second before the lease, and
-- then a waiter writes over the key of an owner who works.
return {
  scripts = {
    take = [[
      local value = redis.call("get", KEYS[1])
      if value then
        local at = string.find(value, ":", 1, true)
        if tonumber(string.sub(value, at + 1)) >= tonumber(ARGV[2]) then return 0 end
      end
      redis.call("set", KEYS[1], ARGV[1] .. ":" .. ARGV[3], "PX", ARGV[4])
      return 1
    ]],
  },

  acquire = function(lock)
    local values = { lock.token, now(), now() + (lock.ttl - 1000), lock.ttl }
    if script("take", { lock.key }, values) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
