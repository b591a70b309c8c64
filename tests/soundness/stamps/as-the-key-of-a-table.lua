-- Class: stamps
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: the two readings need not be one key of the table; if they are two, the client
-- deletes the lock, whosever it is.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local seen = {}
    seen[tostring(now())] = true
    if not seen[tostring(now())] then redis("DEL", lock.key) end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
