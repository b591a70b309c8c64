-- Class: stamps
-- Check: --clients 1 --assume none
-- Truth: deadlock-freedom not-holds
-- Because: that both were sent to a server does not make one reading of two. Where they differ,
-- the lock is taken for ever.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local one, other = now(), now()
    redis("SET", lock.key .. ":seen", one)
    redis("SET", lock.key .. ":seen", other)
    if tostring(one) ~= tostring(other) then redis("SET", lock.key, "taken") end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
