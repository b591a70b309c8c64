-- Class: stamps
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: a stamp that another client stored in the same tick is another reading. Where the two
-- differ, the client deletes the lock, whosever it is.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local mine = now()
    redis("SET", lock.key .. ":last", mine, "PX", 500)
    local last = redis("GET", lock.key .. ":last")
    if last and last ~= tostring(mine) then redis("DEL", lock.key) end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
