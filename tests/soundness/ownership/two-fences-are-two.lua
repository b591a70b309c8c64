-- Class: whose key it is
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Check: --ttl-ticks 2 --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: the second of two fences is another number, always. Who finds that takes the lock
-- away from whoever has it.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local one = redis("INCR", lock.key .. ":fence")
    local other = redis("INCR", lock.key .. ":fence")
    if one and other and one ~= other then redis("DEL", lock.key) end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
