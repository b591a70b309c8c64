-- Class: stamps
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: that both were sent to a server does not make one reading of two.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local one, other = now(), now()
    redis("SET", lock.key .. ":one", one, "PX", 500)
    redis("SET", lock.key .. ":other", other, "PX", 500)
    if tostring(one) ~= tostring(other) then redis("DEL", lock.key) end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
