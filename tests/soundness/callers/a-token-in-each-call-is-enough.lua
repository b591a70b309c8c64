-- Class: a handle that two threads share
-- Check: --assume none
-- Truth: mutual-exclusion-effect holds
-- Truth: owner-only-release holds
-- Truth: honest-outcome holds
-- Truth: release-frees holds
-- Check: --assume client-crash
-- Truth: mutual-exclusion-effect holds
-- Truth: deadlock-freedom holds
-- Check: --assume client-restart
-- Truth: mutual-exclusion-effect holds
-- Truth: deadlock-freedom holds
-- Check: --assume client-pause
-- Truth: mutual-exclusion-effect holds
-- Truth: mutual-exclusion-belief holds
-- Truth: owner-only-release holds
-- Because: what a thread sends is its own token, and the flag in the handle only spares a
-- command: whoever sees it set is told what Redis would have said. A crash ends both threads,
-- and the flag with them; if only one ended, the other would say for ever that it is taken.
return {
  callers = { count = 2, handle = "shared" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if self.taken then return busy() end
    self.taken = true
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if not set then self.taken = nil end
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,

  release = function(lock)
    local gone = script("release_if_owner", { lock.key }, { lock.token })
    self.taken = nil
    return gone == 1
  end,
}
