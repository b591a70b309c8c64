-- Class: stamps
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: as two texts of one tick; that an owner stands in front makes no difference.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local one = lock.owner .. ":" .. now()
    local other = lock.owner .. ":" .. now()
    if one ~= other then redis("DEL", lock.key) end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
