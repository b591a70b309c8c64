-- Class: timeouts
-- Check: --assume none
-- Truth: honest-outcome violated
-- Because: who is told that the lock is valid for 0 ms has been told that it is over.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held { validity = 0 }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
