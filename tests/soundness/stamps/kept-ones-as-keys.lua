-- Class: stamps
-- Check: --clients 1 --assume none
-- Truth: deadlock-freedom not-holds
-- Because: two stamps of one tick are read back, and need not be one key of the table. If they
-- are two, the lock is taken for ever.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    redis("HSET", lock.key .. ":seen", "one", now(), "other", now())
    local one = redis("HGET", lock.key .. ":seen", "one")
    local other = redis("HGET", lock.key .. ":seen", "other")
    if not one or not other then return busy() end
    local seen = {}
    seen[one] = true
    if not seen[other] then
      redis("SET", lock.key, "taken")
    end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
