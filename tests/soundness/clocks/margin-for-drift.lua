-- Class: clocks
-- Check: --assume client-drift
-- Truth: mutual-exclusion-validity holds
-- Truth: mutual-exclusion-belief holds
-- Truth: deadlock-freedom holds
-- Check: --assume client-drift --budget client-drift=2
-- Truth: mutual-exclusion-validity violated
-- Because: the validity ends a second before the key does, and a drift is one second: that is
-- enough for one drift, and not for two of them in one hold.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = monotonic()
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local validity = lock.ttl - 1000 - (monotonic() - started)
    if validity > 0 then return held { validity = validity } end
    return failed("too late")
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
