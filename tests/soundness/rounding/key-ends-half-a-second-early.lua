-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: mutual-exclusion-validity not-holds
-- Truth: mutual-exclusion-belief not-holds
-- Check: --assume none --tick-ms 500 --ttl-ticks 6
-- Truth: mutual-exclusion-validity violated
-- Truth: mutual-exclusion-belief violated
-- Because: the key lives for 2.5 s beside a validity of 3 s. In the last half second another
-- client acquires.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl - 500) then return busy() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
