-- Class: what a holder asks of its lock
-- Check: --assume none
-- Truth: honest-outcome holds
-- Check: --assume overrun
-- Truth: honest-outcome violated
-- Check: --assume node-flush
-- Truth: honest-outcome violated
-- Because: a client that knows when its lease ends is right while it lasts, on a server that
-- keeps its keys. At the very millisecond at which the lease ends it says no, and a server keeps
-- a key through that millisecond.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    self.ends = started + lock.ttl
    return held()
  end,

  is_held = function(lock) return now() < self.ends end,

  release = function(lock)
    self.ends = nil
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
