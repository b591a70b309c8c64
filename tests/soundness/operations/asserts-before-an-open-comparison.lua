-- Class: what a lock asserts of itself
-- Check: --assume none
-- Truth: assertion violated
-- Truth: mutual-exclusion-belief holds
-- Because: whoever finds the lock taken asserts what is not so, and then compares two
-- readings of its clock, which may come out either way. The assertion comes before.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    local set = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    assert_(set, "nobody else has the lock")
    if now() > started then self.slow = true end
    if not set then return busy() end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
