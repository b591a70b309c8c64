-- Class: time-outs hide delays
-- Check: --assume loss --timeout-ticks 1
-- Truth: mutual-exclusion-belief holds
-- Truth: mutual-exclusion-validity holds
-- Truth: honest-outcome holds
-- Truth: owner-only-release holds
-- Check: --assume delay --timeout-ticks 1
-- Truth: mutual-exclusion-belief holds
-- Truth: no-orphan violated
-- Because: after a time-out the client tries once more and then looks whether the key has its
-- token: it set it, the first or the second time. The validity counts from the first. A
-- delayed SET can set the key when its sender has given the lock back long ago.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) end
    if err then return failed(err.message) end
    if not set and redis("GET", lock.key) ~= lock.token then return busy() end
    local validity = lock.ttl - (now() - started)
    if validity > 0 then return held { validity = validity } end
    return failed("too late")
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
