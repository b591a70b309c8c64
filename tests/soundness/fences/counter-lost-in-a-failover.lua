-- Class: fences
-- Check: --assume failover
-- Truth: fence-monotonicity violated
-- Truth: mutual-exclusion-effect violated
-- Because: the replica lacks the write of the script, which took the lock and drew the fence.
-- The next client gets both once more.
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
    local fence, err = script("take", keys, { lock.token, lock.ttl })
    if err then return failed(err.message) end
    if fence == 0 then return busy() end
    return held { fence = fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
