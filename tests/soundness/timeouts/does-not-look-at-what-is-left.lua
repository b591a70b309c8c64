-- Class: time-outs hide delays
-- Check: --assume delay
-- Truth: honest-outcome violated
-- Truth: mutual-exclusion-validity holds
-- Check: --assume none
-- Truth: honest-outcome holds
-- Because: after a reply that took longer than the lease the client states a validity below
-- zero and calls that a success. What it states is right, so no two holds are valid.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
