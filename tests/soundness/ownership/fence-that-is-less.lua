-- Class: whose key it is
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: the first of two fences is less than the second, and who finds that deletes the key.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local one = redis("INCR", lock.key .. ":fence")
    local other = redis("INCR", lock.key .. ":fence")
    if not one or not other then return failed("no number") end
    if one < other or other - one > 0 then redis("DEL", lock.key) end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
