-- Class: a verdict that says nothing
-- Check: --assume none
-- Truth: release-frees holds
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Truth: owner-only-release holds
-- Truth: deadlock-freedom holds
-- Because: the release writes "free" over its own token, and an acquire takes a key that says
-- so at once.
return {
  scripts = {
    take = [[
      local value = redis.call("get", KEYS[1])
      if value and value ~= "free" then return 0 end
      redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
      return 1
    ]],
    give = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      redis.call("set", KEYS[1], "free", "PX", ARGV[2])
      return 1
    ]],
  },

  acquire = function(lock)
    if script("take", { lock.key }, { lock.token, lock.ttl }) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return script("give", { lock.key }, { lock.token, lock.ttl }) == 1
  end,
}
