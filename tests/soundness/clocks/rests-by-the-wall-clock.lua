-- Class: clocks
-- Check: --assume client-skew
-- Truth: deadlock-freedom holds
-- Truth: mutual-exclusion-belief holds
-- Truth: no-orphan holds
-- Because: the remembered time only says when the client tries again. Set back by two seconds
-- its clock makes it rest for two seconds more, and then it tries.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if self.rests and now() < self.rests then return busy() end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    self.rests = now() + 1000
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
