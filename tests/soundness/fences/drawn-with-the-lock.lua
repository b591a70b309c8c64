-- Class: fences
-- Check: --assume none
-- Truth: fence-monotonicity holds
-- Truth: mutual-exclusion-effect holds
-- Check: --assume client-pause
-- Truth: mutual-exclusion-belief violated
-- Truth: fence-monotonicity holds
-- Truth: mutual-exclusion-effect holds
-- Check: --assume overrun
-- Truth: mutual-exclusion-belief violated
-- Truth: mutual-exclusion-effect holds
-- Check: --assume node-restart-always
-- Truth: fence-monotonicity holds
-- Because: the fence is drawn in the step that takes the lock, so it is above all that were
-- drawn before; who hears of it too late knows that it does. A holder who works on when the lock
-- is another's is refused.
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
    local started = now()
    local keys = { lock.key, lock.key .. ":fence" }
    local fence, err = script("take", keys, { lock.token, lock.ttl })
    if err then return failed(err.message) end
    if fence == 0 then return busy() end
    return held { validity = lock.ttl - (now() - started), fence = fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
