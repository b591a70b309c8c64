-- Class: fences
-- Check: --assume none
-- Truth: fence-monotonicity unknown
-- Because: a counter that is moved by three grows as well, and each holder gets its own number.
-- The model follows fences that grow by one.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local fence = redis("INCRBY", lock.key .. ":fence", 3)
    return held { fence = fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
