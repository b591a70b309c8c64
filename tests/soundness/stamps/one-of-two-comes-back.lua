-- Class: stamps
-- Check: --clients 1 --assume none
-- Truth: deadlock-freedom not-holds
-- Because: the first reading was sent, and the second is compared with what is there. Where they
-- differ, the lock is taken for ever.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local one = now()
    redis("SET", lock.key .. ":seen", one)
    local other = tostring(now())
    if redis("GET", lock.key .. ":seen") ~= other then redis("SET", lock.key, "taken") end
    if tostring(one) == other then return busy() end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
