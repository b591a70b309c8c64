-- Class: a pause between the look and the send
-- Check: --assume client-pause
-- Truth: mutual-exclusion-effect violated
-- Truth: mutual-exclusion-validity holds
-- Check: --assume none
-- Truth: mutual-exclusion-effect holds
-- Because: the client may be paused between its last look at the clock and its write to what
-- the lock guards. The stated validity is over by then, so no two are valid, but the write
-- comes after the next owner's.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = monotonic()
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local validity = lock.ttl - (monotonic() - started)
    if validity > 0 then return held { validity = validity } end
    return failed("too late")
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
