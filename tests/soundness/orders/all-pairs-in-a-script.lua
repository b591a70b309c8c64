-- Class: an order that nobody promises
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Truth: deadlock-freedom holds
-- Because: the script goes through all pairs and counts them, which comes to the same in any
-- order.
return {
  scripts = {
    "release_if_owner",
    take = [[
      local found = {}
      local holder = redis.call("get", KEYS[1])
      if holder then found[holder] = true end
      found[ARGV[1] ] = true
      local count = 0
      for token in pairs(found) do count = count + 1 end
      if count > 1 then return 0 end
      redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
      return 1
    ]],
  },

  acquire = function(lock)
    if script("take", { lock.key }, { lock.token, lock.ttl }) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
