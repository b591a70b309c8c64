-- Class: stamps
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Because: each client writes and reads a stamp of its own, and finds what it wrote; those of
-- others do not matter.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local own = lock.key .. ":" .. lock.owner
    local mine = now()
    redis("SET", own, mine, "PX", 500)
    local found = redis("GET", own)
    if found and found ~= tostring(mine) then redis("DEL", lock.key) end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
