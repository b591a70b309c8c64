-- Class: stamps
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: the first reading was sent, and the second is compared with what is there.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local one = now()
    redis("SET", lock.key .. ":seen", one)
    local other = now()
    if redis("GET", lock.key .. ":seen") ~= tostring(other) then redis("DEL", lock.key) end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
