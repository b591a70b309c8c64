-- Class: a stop flag that all locks of a client share
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: giving back the second lock clears the flag, and the renewal of the first, which the
-- client still holds, ends with it.
return {
  renews = true,
  objects = { count = 2, state = "shared" },
  scripts = {
    "release_if_owner",
    extend = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      return redis.call("pexpire", KEYS[1], ARGV[2])
    ]],
  },

  acquire = function(lock)
    local token = lock.token
    if not redis("SET", lock.key, token, "NX", "PX", lock.ttl) then return busy() end
    -- The renewal of this lock's last hold may sleep still.
    local thread = "renewal of " .. lock.key
    stop(self[thread])
    self.renewing = true
    self[thread] = every(1000, function()
      if not self.renewing then return false end
      if script("extend", { lock.key }, { token, lock.ttl }) == 0 then return false end
    end)
    return held()
  end,

  release = function(lock)
    self.renewing = false
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
