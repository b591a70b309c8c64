-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: mutual-exclusion-validity not-holds
-- Because: the validity lasts three milliseconds longer than the key. In the last two of them
-- another client can acquire.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held { validity = lock.ttl + 3 }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
