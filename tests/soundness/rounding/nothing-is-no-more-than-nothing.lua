-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: honest-outcome holds
-- Because: after a sleep of a lease nothing is left, or less, and that is no more than nothing.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local before = now()
    sleep(lock.ttl)
    local left = lock.ttl - (now() - before)
    if left <= 0 then return busy() end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held(-1) end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
