-- Class: time that stands still
-- Check: --assume none
-- Truth: refused line 11
-- Because: the loop asks nothing but the clock, and the model's clock goes on only where a
-- client waits: nothing can be said of what comes after.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local deadline = now() + 1000
    while now() < deadline do end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
