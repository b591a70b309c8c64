-- Class: nested acquires
-- Check: --assume none
-- Truth: mutual-exclusion-validity holds
-- Truth: mutual-exclusion-belief holds
-- Truth: reentrancy holds
-- Truth: lease holds
-- Truth: honest-outcome holds
-- Truth: owner-only-release holds
-- Because: the inner acquire gives the key a whole lease again, if it is still its own, and
-- states just that. The last release compares and deletes.
return {
  reentrant = true,
  scripts = {
    "release_if_owner",
    prolong = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      return redis.call("pexpire", KEYS[1], ARGV[2])
    ]],
  },

  acquire = function(lock)
    if (self.holds or 0) == 0 then
      if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    elseif script("prolong", { lock.key }, { lock.token, lock.ttl }) ~= 1 then
      return failed("the lock was lost")
    end
    self.holds = (self.holds or 0) + 1
    return held { validity = lock.ttl }
  end,

  release = function(lock)
    self.holds = self.holds - 1
    if self.holds > 0 then return true end
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
