-- Class: a hold whose renewal never starts
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: mutual-exclusion-effect holds
-- Truth: lease holds
-- Truth: no-orphan holds
-- Truth: owner-only-release holds
-- Truth: release-frees holds
-- Check: --assume client-pause
-- Truth: owner-only-release holds
-- Truth: lease violated
-- Truth: mutual-exclusion-belief violated
-- Because: every third of the lease the key gets a whole lease again, if its value is still
-- the token, and the release stops that first. A paused client renews nothing, and still
-- believes; one that is paused before it reads the reply to its SET succeeds when the key is
-- gone.
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
    local token = lock.token
    if not redis("SET", lock.key, token, "NX", "PX", lock.ttl) then return busy() end
    self.renewal = every(lock.ttl / 3, function()
      if script("extend", { lock.key }, { token, lock.ttl }) == 0 then
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
