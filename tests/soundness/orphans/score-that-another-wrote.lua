-- Class: orphans
-- Check: --assume none --property no-orphan --property mutual-exclusion-belief
-- Truth: no-orphan violated
-- Truth: mutual-exclusion-belief holds
-- Because: whoever acquires puts all who wait there once more, with another score. What it put
-- there is still there a lease after its release.
return {
  keys = { lock = "{key}", queue = "{key}:waiting" },
  scripts = {
    "release_if_owner",
    take = [[
      if not redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[3]) then return 0 end
      redis.call("ZREM", KEYS[2], ARGV[2])
      for _, waiter in ipairs(redis.call("ZRANGE", KEYS[2], 0, -1)) do
        redis.call("ZADD", KEYS[2], 1, waiter)
      end
      return 1
    ]],
  },

  acquire = function(lock)
    local waiting = lock.key .. ":waiting"
    redis("ZADD", waiting, 0, lock.owner)
    if script("take", { lock.key, waiting }, { lock.token, lock.owner, lock.ttl }) == 1 then
      return held()
    end
    sleep(lock.ttl * 2)
    redis("ZREM", waiting, lock.owner)
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
