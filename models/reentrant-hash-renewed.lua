-- The reentrant hash, renewed by a timer: HEXISTS, then EXPIRE, in a script.
--
-- A fault that belongs to it: nobody reads what the renewal replies, so an owner who lost
-- the lock is not told.
return {
  name = "reentrant-hash-renewed",
  description = "a hash counts its owner's holds, renewed in the background until the last release",
  reentrant = true,
  ttl_step = 1000, -- EXPIRE takes whole seconds
  renews = true, -- by the timer below, for as long as the lock is held
  scripts = { "hash_lock", "hash_unlock", "hash_expire_if_owner" },
  -- The source leaves the period open; three in a lease is what libraries do.
  params = { renewals_per_ttl = 3 },

  acquire = function(lock)
    local got, err = script("hash_lock", { lock.key }, { lock.owner, lock.ttl / 1000 })
    if err then return failed(err.message) end
    if got == 0 then return busy() end
    if not self.renewal then
      self.renewal = every(lock.ttl / lock.params.renewals_per_ttl, function()
        script("hash_expire_if_owner", { lock.key }, { lock.owner, lock.ttl / 1000 })
      end)
    end
    return held()
  end,

  release = function(lock)
    local left, err = script("hash_unlock", { lock.key }, { lock.owner })
    -- 0: outer holds are left, and have to be renewed.
    if left ~= 0 and self.renewal then
      stop(self.renewal)
      self.renewal = nil
    end
    if err then return failed(err.message) end
    return left ~= nil
  end,

  about = {
    works = [[It is the reentrant hash with a timer. While the lock is held, a script sets the expiry anew
      three times in each lease if the owner's field is still there. The last release stops the
      timer, and nobody looks at what the renewal replies.]],
    claims = [[The notes add the timer because work may take longer than the lease: the resource is meant
      to stay locked until its owner releases it. They call it a first version.]],
    repair = [[Read the reply of each renewal. If the field is gone, or nothing was renewed for a whole
      lease on the client's own clock, call lost() and stop the work. Give each hold an identifier
      of its own, so that a script that is executed late is not counted. A fencing token protects
      the resource from a client that was paused.]],
  },
}
