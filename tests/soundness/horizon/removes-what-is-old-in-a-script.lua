-- Class: times beyond the horizon
-- Check: --ttl-ticks 2 --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: as in removes-what-is-old.lua, but the server's script does the sum: a hold that is
-- renewed for more than four leases is taken over while its owner works.
return {
  renews = true,
  scripts = {
    take = [[
      local since = redis.call("get", KEYS[1])
      if since and tonumber(ARGV[1]) - tonumber(since) <= tonumber(ARGV[3]) then return 0 end
      redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
      return 1
    ]],
  },

  acquire = function(lock)
    if script("take", { lock.key }, { now(), lock.ttl, 4 * lock.ttl }) ~= 1 then return busy() end
    self.renewal = every(lock.ttl / 2, function()
      redis("PEXPIRE", lock.key, lock.ttl)
    end)
    return held()
  end,

  release = function(lock)
    stop(self.renewal)
    return redis("DEL", lock.key) == 1
  end,
}
