-- Class: clocks
-- Check: --assume client-skew
-- Truth: mutual-exclusion-validity holds
-- Truth: mutual-exclusion-belief holds
-- Check: --assume client-drift
-- Truth: mutual-exclusion-validity violated
-- Because: a step of the wall clock does not move the monotonic one. A drift does: a clock
-- that stands still for a second lets the holder go on for a second after its key has expired.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = monotonic()
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held { validity = lock.ttl - (monotonic() - started) }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
