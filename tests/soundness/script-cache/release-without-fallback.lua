-- Class: a server forgets its scripts
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: release-frees violated
-- Because: nobody loads the script of the release, whose answer nobody reads: it reports success,
-- and the lock stays until its lease is over.
return {
  name = "release-without-fallback",
  scripts = { "release_if_owner" },
  acquire = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    return set and held() or busy()
  end,
  release = function(lock)
    evalsha("release_if_owner", { lock.key }, { lock.token })
    return true
  end,
}
