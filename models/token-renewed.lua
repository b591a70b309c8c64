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
}
