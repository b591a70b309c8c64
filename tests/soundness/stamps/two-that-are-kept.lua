-- Class: stamps
-- Check: --clients 1 --assume none
-- Truth: deadlock-freedom not-holds
-- Because: two stamps that one client stored in one tick need not be one text when both are
-- read back. Where they differ, the lock is taken for ever.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    redis("SET", lock.key .. ":one", now(), "PX", 500)
    redis("SET", lock.key .. ":other", now(), "PX", 500)
    local one = redis("GET", lock.key .. ":one")
    local other = redis("GET", lock.key .. ":other")
    if one and other and one ~= other then redis("SET", lock.key, "taken") end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
