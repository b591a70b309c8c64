-- Class: a pause between the look and the send
-- Check: --assume none
-- Truth: owner-only-release holds
-- Truth: mutual-exclusion-belief holds
-- Check: --assume client-pause
-- Truth: owner-only-release violated
-- Because: the renewal looks at the clock, sees that the lease is not over, and is paused
-- before the PEXPIRE leaves. Meanwhile the key expires and another client acquires, whose key
-- it prolongs. Without a pause the renewal comes every third of the lease.
return {
  renews = true,

  acquire = function(lock)
    local started = now()
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    self.ends = started + lock.ttl
    self.renewal = every(lock.ttl / 3, function()
      local sent = now()
      if sent >= self.ends then return false end
      self.asking = true
      if redis("PEXPIRE", lock.key, lock.ttl) ~= 1 then return false end
      self.asking = false
      self.ends = sent + lock.ttl
    end)
    return held()
  end,

  release = function(lock)
    stop(self.renewal)
    if self.asking then return false end -- it could come after the DEL
    if now() >= self.ends then return false end
    return redis("DEL", lock.key) == 1
  end,
}
