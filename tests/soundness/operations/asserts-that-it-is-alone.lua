-- Class: what a lock asserts of itself
-- Check: --assume none
-- Truth: assertion violated
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Because: the other client may have the lock, and then SET says so. Nothing else is wrong.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local set = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    assert_(set, "nobody else has the lock")
    if not set then return busy() end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
