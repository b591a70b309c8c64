-- Class: what a lock tells its caller of a loss
-- Check: --assume client-pause --clients 1
-- Truth: no-false-alarm holds
-- Check: --assume loss --clients 1 --timeout-ticks 1
-- Truth: no-false-alarm holds
-- Because: an inner release counts a hold down, and its reply says that the key is there. It does not
-- say for how long: a renewal whose reply was lost may have given the key a later end. So
-- the client's clock tells it that the lease is over.
return {
  renews = true,
  reentrant = true,
  scripts = {
    take = [[
      if redis.call("exists", KEYS[1]) == 1 and redis.call("hexists", KEYS[1], ARGV[1]) == 0 then return 0 end
      redis.call("hincrby", KEYS[1], ARGV[1], 1)
      redis.call("pexpire", KEYS[1], ARGV[2])
      return 1
    ]],
    extend = [[
      if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then return 0 end
      return redis.call("pexpire", KEYS[1], ARGV[2])
    ]],
    give = [[
      if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then return -1 end
      local left = redis.call("hincrby", KEYS[1], ARGV[1], -1)
      if left == 0 then redis.call("del", KEYS[1]) end
      return left
    ]],
  },

  acquire = function(lock)
    local owner, ttl = lock.owner, lock.ttl
    local started = monotonic()
    local taken, err = script("take", { lock.key }, { owner, ttl })
    if err then return failed(err.message) end
    if taken == 0 then return busy() end
    self.holds = (self.holds or 0) + 1
    local sure = started + ttl
    if not self.sure or self.sure < sure then self.sure = sure end
    if self.holds > 1 then return held() end
    self.renewal = every(ttl / 3, function()
      local began = monotonic()
      local extended = script("extend", { lock.key }, { owner, ttl })
      if extended == 1 then self.sure = began + ttl end
      if extended == 0 or monotonic() >= self.sure then
        lost()
        return false
      end
    end)
    return held()
  end,

  release = function(lock)
    self.holds = self.holds - 1
    if self.holds == 0 then stop(self.renewal) end
    local left = script("give", { lock.key }, { lock.owner })
    return left ~= nil and left >= 0
  end,
}
