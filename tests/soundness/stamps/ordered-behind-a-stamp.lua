-- Class: stamps
-- Check: --clients 1 --assume none
-- Truth: deadlock-freedom not-holds
-- Because: what stands behind the stamps decides only if they are one; the earlier of the two has
-- the greater letter behind it. Where they differ, the lock is taken for ever.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    redis("HSET", lock.key .. ":seen", "one", now(), "other", now())
    local one = redis("HGET", lock.key .. ":seen", "one")
    local other = redis("HGET", lock.key .. ":seen", "other")
    if not one or not other then return busy() end
    if one .. ":b" < other .. ":a" then redis("SET", lock.key, "taken") end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
