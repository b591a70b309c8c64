-- Class: derived and absolute times
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: the end of the lease is cut to whole seconds, so the key expires up to a second
-- before the work ends, and another client acquires.
return {
  scripts = {
    "release_if_owner",
    take = [[
      if redis.call("setnx", KEYS[1], ARGV[1]) == 0 then return 0 end
      return redis.call("expireat", KEYS[1], math.floor(tonumber(ARGV[2]) / 1000))
    ]],
  },

  acquire = function(lock)
    if script("take", { lock.key }, { lock.token, now() + lock.ttl }) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
