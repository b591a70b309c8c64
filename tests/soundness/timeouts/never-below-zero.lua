-- Class: time-outs hide delays
-- Check: --assume delay
-- Truth: mutual-exclusion-validity violated
-- Because: after a late reply nothing is left of the lease, and the client states a second all
-- the same, while another client holds.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held { validity = math.max(1000, lock.ttl - (now() - started)) }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
