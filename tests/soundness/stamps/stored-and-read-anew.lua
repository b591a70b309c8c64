-- Class: stamps
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: what was stored is one reading of the clock, and what it is compared with a later
-- one. They differ as soon as a millisecond passes between.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    redis("SET", lock.key .. ":seen", now())
    if redis("GET", lock.key .. ":seen") ~= tostring(now()) then redis("DEL", lock.key) end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
