-- Class: fences
-- Check: --assume none
-- Truth: fence-monotonicity holds
-- Truth: mutual-exclusion-effect holds
-- Because: each holder draws a fence, and reads the counter afterwards. Nobody draws one
-- without the lock, so it is the same number, as a text.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local drawn = redis("INCR", lock.key .. ":fence")
    local read = tonumber((redis("GET", lock.key .. ":fence")))
    if drawn ~= read then redis("DEL", lock.key) end
    return held { fence = read }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
