-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: mutual-exclusion-validity not-holds
-- Check: --assume none --tick-ms 100 --ttl-ticks 10
-- Truth: mutual-exclusion-validity violated
-- Because: the key lives for 100 ms beside a validity of 900 ms: for 800 ms another client can
-- acquire.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", 100) then return held { validity = 900 } end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
