-- Class: an acquire of one command that is interrupted
-- Check: --assume cancel
-- Truth: mutual-exclusion-belief holds
-- Truth: mutual-exclusion-effect holds
-- Truth: owner-only-release holds
-- Truth: lease holds
-- Truth: no-orphan holds
-- Truth: honest-outcome holds
-- Truth: deadlock-freedom holds
-- Truth: release-frees violated
-- Check: --assume none --property no-orphan-at-once
-- Truth: no-orphan-at-once holds
-- Check: --assume cancel --property no-orphan-at-once
-- Truth: no-orphan-at-once violated
-- Because: the SET of an acquire that was interrupted is executed all the same, and its key
-- stays for a lease. It ends by itself then. An interrupted release claims nothing. The SET may
-- also arrive when the client has acquired once more and its release runs: then the release
-- reports success, and nobody can acquire before the lease is over.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,

  release = function(lock)
    local done, err = script("release_if_owner", { lock.key }, { lock.token })
    if err then return failed(err.message) end
    return done == 1
  end,
}
