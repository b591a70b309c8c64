-- Class: stamps
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: the stamp that the client remembers from its last attempt and a new one of the same
-- tick need not be one millisecond.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local last = self.last
    self.last = tostring(now())
    local recent = last and now() - time(last) < 500
    if recent and last ~= self.last then redis("DEL", lock.key) end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
