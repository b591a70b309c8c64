-- Class: stamps
-- Check: --clients 1 --assume none
-- Truth: deadlock-freedom not-holds
-- Because: of three readings of one tick the first is forgotten, and the second and the third
-- need not be one. Where they differ, the lock is taken for ever.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local second
    do
      local first = now()
      second = tostring(now())
      if tostring(first) ~= second then return busy() end
    end
    redis("EXISTS", lock.key)
    if second ~= tostring(now()) then redis("SET", lock.key, "taken") end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
