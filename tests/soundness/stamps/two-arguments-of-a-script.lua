-- Class: stamps
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: the two arguments were read one after the other, and need not be one millisecond. If
-- they are two, the script deletes the lock, whosever it is.
return {
  scripts = {
    "release_if_owner",
    compare = [[
      if ARGV[1] ~= ARGV[2] then redis.call("del", KEYS[1]) end
      return 1
    ]],
  },

  acquire = function(lock)
    script("compare", { lock.key }, { now(), now() })
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
