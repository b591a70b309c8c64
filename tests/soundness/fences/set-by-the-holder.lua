-- Class: fences
-- Check: --assume none
-- Truth: refused
-- Because: who sets a counter does not draw from it.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    redis("SET", lock.key .. ":fence", 7)
    return held { fence = 7 }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
