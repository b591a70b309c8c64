-- Class: a verdict that says nothing
-- Check: --assume none
-- Truth: release-frees violated
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Truth: deadlock-freedom holds
-- Because: the release deletes its key and leaves a gate, which lives for a lease and keeps
-- everybody out.
return {
  scripts = {
    give = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      redis.call("set", KEYS[2], "1", "PX", ARGV[2])
      return redis.call("del", KEYS[1])
    ]],
  },

  acquire = function(lock)
    if redis("EXISTS", lock.key .. ":gate") == 1 then return busy() end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    local keys = { lock.key, lock.key .. ":gate" }
    return script("give", keys, { lock.token, lock.ttl }) == 1
  end,
}
