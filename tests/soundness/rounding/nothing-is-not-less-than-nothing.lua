-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: honest-outcome violated
-- Because: a sleep of a lease may take exactly a lease. Then nothing is left, which is not less
-- than nothing (both counted below zero here), and the client states a validity that is over.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local before = now()
    sleep(lock.ttl)
    local left = -(now() - before)
    if left < -lock.ttl then return busy() end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held(-1) end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
