-- Class: a hold whose renewal never starts
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: the renewal thread outlives the release and ends after its fifth round. A second
-- hold takes it for its own and starts none: when the thread ends, nothing renews the key, and
-- it expires while the work goes on.
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
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    if not self.renewing then
      self.renewing = true
      local rounds = 0
      every(1000, function()
        rounds = rounds + 1
        script("extend", { lock.key }, { lock.token, lock.ttl })
        if rounds == 5 then
          self.renewing = nil
          return false
        end
      end)
    end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
