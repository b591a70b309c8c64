-- Class: whose key it is
-- Check: --assume none
-- Truth: no-orphan holds
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Because: the script answers 0, or the next fence, which is above 0: the client tells them
-- apart whatever the fence is.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = {
    "release_if_owner",
    take = [[
      if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
        return redis.call("incr", KEYS[2])
      end
      return 0
    ]],
  },

  acquire = function(lock)
    local keys = { lock.key, lock.key .. ":fence" }
    local fence = script("take", keys, { lock.token, lock.ttl })
    if fence == 0 then return busy() end
    return held { fence = fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
