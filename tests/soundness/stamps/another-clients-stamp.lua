-- Class: stamps
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: the first reading that the client finds may be its own and the second another
-- client's, of the same tick. Where they differ, it deletes the lock, whosever it is.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    redis("SET", lock.key .. ":last", now(), "PX", 500)
    local first = redis("GET", lock.key .. ":last")
    local second = redis("GET", lock.key .. ":last")
    if first and second and first ~= second then redis("DEL", lock.key) end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
