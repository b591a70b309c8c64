-- Redisson's RLock without a lease of the caller's: a watchdog renews the hold for as long
-- as it stands.
--
-- A fault that belongs to it: an owner who lost the lock is not told. The renewal ends with
-- a line in a log.
return {
  name = "redisson-watchdog",
  description = "redisson, renewed in the background until the last release",
  reentrant = true,
  renews = true, -- by the watchdog below, for as long as the lock is held
  scripts = { "redisson_lock", "redisson_unlock", "redisson_renew" },
  -- The library renews three times in a lease; the document says once, which is a variant.
  params = { wait = { default = 3000, check = 3000 }, renewals_per_ttl = 3 },

  acquire = function(lock)
    local began = monotonic()
    local channel = "redisson_lock__channel:{" .. lock.key .. "}"
    local left, err = script("redisson_lock", { lock.key }, { lock.ttl, lock.owner })
    if err then return failed(err.message) end
    if left ~= nil then
      local _, refused = subscribe(channel)
      if refused then return failed(refused.message) end
      while true do
        left, err = script("redisson_lock", { lock.key }, { lock.ttl, lock.owner })
        local rest = lock.params.wait - (monotonic() - began)
        if err or left == nil or rest <= 0 then break end
        if left < rest then rest = left end
        wait(rest)
        if monotonic() - began >= lock.params.wait then break end
      end
      unsubscribe(channel)
      if err then return failed(err.message) end
      if left ~= nil then return busy() end
    end
    if not self.renewal then
      self.renewal = every(lock.ttl / lock.params.renewals_per_ttl, function()
        local renewed, err = script("redisson_renew", { lock.key }, { lock.ttl, lock.owner })
        -- An error is told in a log, and ends the renewal.
        if err or renewed == 0 then
          self.renewal = nil
          return false
        end
      end)
    end
    return held()
  end,

  release = function(lock)
    local channel = "redisson_lock__channel:{" .. lock.key .. "}"
    local left, err =
      script("redisson_unlock", { lock.key, channel }, { 0, lock.ttl, lock.owner })
    if left ~= 0 and self.renewal then
      stop(self.renewal)
      self.renewal = nil
    end
    if err then return failed(err.message) end
    return left ~= nil
  end,

  about = {
    works = [[It is redisson with a watchdog. While the lock is held, a script sets the lease anew three
      times in each lease if the owner's field is still there. The last release stops the
      watchdog, and so does a renewal that fails or finds nothing.]],
    claims = [[The document has the watchdog as the answer to work that takes longer than a lease: who asks
      for no lease of its own holds the lock until it releases it. It has one renewal in each
      lease of 30 seconds; the library renews in each third.]],
    repair = [[Tell the caller when a renewal finds nothing, or when none succeeded for a whole lease on
      the client's own clock: call lost() and stop the work. One renewal in a lease comes too
      late by its own length, so keep three. All else is as for redisson.]],
  },
}
