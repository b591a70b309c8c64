-- Class: what a lock tells its caller of a loss
-- Check: --assume node-flush
-- Truth: no-false-alarm holds
-- Truth: told-when-lost violated
-- Because: the first renewal that finds nothing may be a mistake, it thinks, and waits for the
-- second one. That is more than a third of a lease after the loss.
return {
  renews = true,
  told_within = 1 / 3,
  scripts = {
    "release_if_owner",
    extend = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      return redis.call("pexpire", KEYS[1], ARGV[2])
    ]],
  },

  acquire = function(lock)
    local token, ttl = lock.token, lock.ttl
    local set, err = redis("SET", lock.key, token, "NX", "PX", ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    local misses = 0
    self.renewal = every(lock.ttl / 3, function()
      local extended = script("extend", { lock.key }, { token, ttl })
      if extended == 0 then misses = misses + 1 end
      if misses == 2 then
        lost()
        return false
      end
    end)
    return held()
  end,

  release = function(lock)
    stop(self.renewal)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
