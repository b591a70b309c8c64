-- The token lock with a background thread that prolongs the lease until the
-- release, as a watchdog does. It states no validity: the lease is meant to go on.
--
-- A fault that belongs to it: nobody reads what the renewal replies, so an
-- owner who lost the lock is not told.
return {
  name = "token-renewed",
  description = "SET NX PX with a token, renewed in the background until release",
  ttl_step = 1000, -- the renewal's EXPIRE takes whole seconds
  renews = true, -- by `keep` below, for as long as the lock is held
  scripts = { "release_if_owner", "expire_if_owner" },
  -- The document leaves the period open; three in a lease is what libraries do.
  params = { renewals_per_ttl = 3 },

  acquire = function(lock)
    local token = lock.token
    local set, err = redis("SET", lock.key, token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    self.renewal = every(lock.ttl / lock.params.renewals_per_ttl, function()
      script("expire_if_owner", { lock.key }, { token, lock.ttl / 1000 })
    end)
    return held()
  end,

  release = function(lock)
    stop(self.renewal)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,

  about = {
    works = [[SET with NX and PX writes a token. A background thread prolongs the lease three times in
      each lease, by a script that first compares the token, until the release. Nobody looks at
      what the renewal replies.]],
    claims = [[An article recommends it for jobs of unknown length: the key does not disappear before the
      work is done, and when the client dies the lease ends soon. It leaves open how often to
      renew and what happens if a renewal fails.]],
    repair = [[Read the reply of each renewal. If the key is no longer there, or nothing was renewed for a
      whole lease on the client's own clock, call lost() and stop the work. A paused client
      notices that too late, so a resource that must not be written twice needs a fencing token.]],
  },
}
