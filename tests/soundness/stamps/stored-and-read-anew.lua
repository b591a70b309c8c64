-- Class: stamps
-- Check: --clients 1 --assume none
-- Truth: deadlock-freedom not-holds
-- Because: what was stored is one reading of the clock, and what it is compared with a later
-- one. As soon as a millisecond passes between, the lock is taken for ever.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    redis("SET", lock.key .. ":seen", now())
    if redis("GET", lock.key .. ":seen") ~= tostring(now()) then redis("SET", lock.key, "taken") end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
