-- Class: whose key it is
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: every second fence is even, and with one the client deletes the key that it has
-- just set, and works on.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = {
    "release_if_owner",
    number = [[
      local fence = redis.call("incr", KEYS[1])
      if fence % 2 == 0 then redis.call("del", KEYS[2]) end
      return fence
    ]],
  },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local fence = script("number", { lock.key .. ":fence", lock.key }, {})
    return held { fence = fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
