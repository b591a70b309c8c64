-- Class: stamps
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: the clock is read twice. If a millisecond passes between, the texts differ, and the
-- client deletes the lock, whosever it is.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local one, other = tostring(now()), tostring(now())
    if one ~= other then redis("DEL", lock.key) end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
