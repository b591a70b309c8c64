-- Class: fences
-- Check: --assume none
-- Truth: refused
-- Because: two clocks, or one that was set, give times in any order; and the model knows no
-- digits of a time.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held { fence = now() }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
