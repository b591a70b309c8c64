-- Class: stamps
-- Check: --clients 1 --assume none
-- Truth: deadlock-freedom not-holds
-- Because: one command stores two readings, and they need not be one text when they are read
-- back. Where they differ, the lock is taken for ever.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local key = lock.key .. ":seen"
    redis("HSET", key, "one", now(), "other", now())
    if redis("HGET", key, "one") ~= redis("HGET", key, "other") then
      redis("SET", lock.key, "taken")
    end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
