-- Class: a pause between the look and the send
-- Check: --assume none
-- Truth: owner-only-release holds
-- Truth: mutual-exclusion-belief holds
-- Check: --assume client-pause
-- Truth: owner-only-release violated
-- Because: to give the lock back, the client lets the key expire at once if its clock says
-- that the lease is not over. Paused between the two, it does that to the next owner's key.
return {
  acquire = function(lock)
    local started = monotonic()
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    self.ends = started + lock.ttl
    return held()
  end,

  release = function(lock)
    if monotonic() >= self.ends then return false end
    return redis("PEXPIRE", lock.key, 0) == 1
  end,
}
