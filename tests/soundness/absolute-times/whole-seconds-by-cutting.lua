-- Class: derived and absolute times
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: the script stores the end of the lease in whole seconds, cut off. Up to a second
-- before the lease ends a waiter finds that second reached, and takes the lock from an owner
-- who works.
return {
  scripts = {
    take = [[
      local ends = redis.call("get", KEYS[1])
      if ends and string.sub(ARGV[1], 1, 10) < ends then return 0 end
      redis.call("set", KEYS[1], string.sub(ARGV[2], 1, 10))
      return 1
    ]],
  },

  acquire = function(lock)
    if script("take", { lock.key }, { now(), now() + lock.ttl }) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
