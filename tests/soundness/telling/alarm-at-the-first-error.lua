-- Class: what a lock tells its caller of a loss
-- Check: --assume none
-- Truth: no-false-alarm holds
-- Check: --assume loss --timeout-ticks 1
-- Truth: no-false-alarm violated
-- Because: one renewal that is not answered proves nothing. The key is there, and two thirds of
-- the lease are left.
return {
  renews = true,
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
    self.renewal = every(lock.ttl / 3, function()
      local extended = script("extend", { lock.key }, { token, ttl })
      if extended ~= 1 then
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
