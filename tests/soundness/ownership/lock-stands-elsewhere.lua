-- Class: whose key it is
-- Check: --assume none
-- Truth: refused
-- Because: nothing is ever written to lock.key, which is the lock as long as the file does not
-- say otherwise. (lock-stands-elsewhere-and-says-so.lua does.)
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local key = lock.key .. ":held"
    if redis("SET", key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key .. ":held" }, { lock.token }) == 1
  end,
}
