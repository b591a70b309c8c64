-- Class: stamps
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: a reading and the same moved by two milliseconds are never one text.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local one = now()
    local other = one + 2
    if tostring(one) ~= tostring(other) then redis("DEL", lock.key) end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
