-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: mutual-exclusion-validity holds
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Check: --assume none --tick-ms 500 --ttl-ticks 6
-- Truth: mutual-exclusion-validity holds
-- Truth: mutual-exclusion-belief holds
-- Because: the stated validity ends half a second before the key does.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local validity = lock.ttl - 500 - (now() - started)
    if validity > 0 then return held { validity = validity } end
    return failed("too late")
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
