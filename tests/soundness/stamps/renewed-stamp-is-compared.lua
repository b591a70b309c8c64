-- Class: stamps
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: no-orphan holds
-- Because: the holder writes its stamp beside the lock and takes it back with it. Whoever finds
-- the same stamp twice learns nothing, and waits.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local first = redis("GET", lock.key .. ":since")
    if first and redis("GET", lock.key .. ":since") == first then return busy() end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then
      redis("SET", lock.key .. ":since", now(), "PX", lock.ttl)
      return held()
    end
    return busy()
  end,

  release = function(lock)
    redis("DEL", lock.key .. ":since")
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
