-- Class: derived and absolute times
-- Check: --assume none
-- Truth: refused line 9
-- Because: a time is no number in a lock file, and has no digits to be written in another way.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local value = string.format("%x", now())
    if redis("SET", lock.key, value, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
