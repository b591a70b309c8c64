-- Class: fences
-- Check: --assume none
-- Truth: fence-monotonicity violated
-- Because: a client draws one fence in its life. When another one has held the lock with a
-- higher one, it comes with its old one again.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    if not self.fence then self.fence = redis("INCR", lock.key .. ":fence") end
    return held { fence = self.fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
