-- Class: fences
-- Check: --assume none
-- Truth: fence-monotonicity violated
-- Because: only the first holder draws a fence. All others read the same one.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local fence = tonumber((redis("GET", lock.key .. ":fence")))
    if not fence then fence = redis("INCR", lock.key .. ":fence") end
    return held { fence = fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
