-- Class: two locks in opposite order
-- Check: --assume none
-- Truth: deadlock-freedom holds
-- Truth: mutual-exclusion-belief holds
-- Truth: mutual-exclusion-validity holds
-- Truth: owner-only-release holds
-- Truth: lease holds
-- Truth: no-orphan holds
-- Truth: honest-outcome holds
-- Truth: release-frees holds
-- Check: --assume client-crash
-- Truth: deadlock-freedom holds
-- Truth: no-orphan holds
-- Check: --assume client-pause
-- Truth: mutual-exclusion-belief violated
-- Check: --assume overrun
-- Truth: mutual-exclusion-belief violated
-- Check: --assume node-restart-none
-- Truth: mutual-exclusion-belief violated
-- Because: who is told that the second lock is busy gives back the first, and both begin anew.
return {
  objects = { count = 2, order = "opposite" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
