-- Class: a handle that two threads share
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Truth: release-frees violated
-- Because: the second thread tries, puts its token into the one field for it, and is told that
-- the lock is busy. The first one then gives back with that token, finds another one in Redis,
-- and says that it worked; nobody gets the lock before the lease is over. Without a claim to
-- have deleted it, nothing is dishonest in that.
return {
  callers = { count = 2, handle = "shared" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    self.token = lock.token
    local set, err = redis("SET", lock.key, self.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,

  release = function(lock)
    local _, err = script("release_if_owner", { lock.key }, { self.token })
    if err then return failed(err.message) end
  end,
}
