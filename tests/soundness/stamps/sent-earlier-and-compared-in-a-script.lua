-- Class: stamps
-- Check: --clients 1 --assume none
-- Truth: deadlock-freedom not-holds
-- Because: two readings of one tick, sent one by one before, are compared in a script. Where they
-- differ, the lock is taken for ever.
return {
  scripts = {
    "release_if_owner",
    compare = [[
      if ARGV[1] ~= ARGV[2] then redis.call("set", KEYS[1], "taken") end
      return 1
    ]],
  },

  acquire = function(lock)
    local one, other = now(), now()
    redis("SET", lock.key .. ":seen", one)
    redis("SET", lock.key .. ":seen", other)
    script("compare", { lock.key }, { one, other })
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
