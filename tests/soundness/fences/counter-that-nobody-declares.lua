-- Class: fences
-- Check: --assume none
-- Truth: fence-monotonicity unknown
-- Because: it is a fence, but the file does not say so. As a number it grows beyond what the
-- model holds.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local fence = redis("INCR", lock.key .. ":number")
    return held { fence = fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
