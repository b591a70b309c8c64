-- Class: stamps
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: two readings of one tick, sent one by one before, are compared in a script.
return {
  scripts = {
    "release_if_owner",
    compare = [[
      if ARGV[1] ~= ARGV[2] then redis.call("del", KEYS[1]) end
      return 1
    ]],
  },

  acquire = function(lock)
    local one, other = now(), now()
    redis("SET", lock.key .. ":one", one, "PX", 500)
    redis("SET", lock.key .. ":other", other, "PX", 500)
    script("compare", { lock.key }, { one, other })
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
