-- Class: fences
-- Check: --assume none
-- Truth: fence-monotonicity violated
-- Because: nobody takes the lock for two leases, and the counter is gone. It begins again.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local fence = redis("INCR", lock.key .. ":number")
    redis("PEXPIRE", lock.key .. ":number", 2 * lock.ttl)
    return held { fence = fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
