-- Class: time-outs hide delays
-- Check: --assume delay
-- Truth: mutual-exclusion-belief holds
-- Truth: mutual-exclusion-validity holds
-- Truth: honest-outcome holds
-- Truth: owner-only-release holds
-- Truth: deadlock-freedom holds
-- Check: --assume delay --timeout-ticks 2
-- Truth: mutual-exclusion-belief holds
-- Truth: mutual-exclusion-validity holds
-- Because: the validity counts from before the request, and nothing is claimed when it is
-- over. The key's life began no earlier. A late SET sets a token that nobody works with.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    local validity = lock.ttl - (now() - started)
    if validity > 0 then return held { validity = validity } end
    script("release_if_owner", { lock.key }, { lock.token })
    return failed("too late")
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
