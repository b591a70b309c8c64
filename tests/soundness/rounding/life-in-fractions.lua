-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: deadlock-freedom violated
-- Truth: honest-outcome holds
-- Because: the lease divided by seven is no whole number of ms, which the server refuses as
-- "not an integer", each time: nobody ever acquires.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl / 7)
    if err then return failed(err.message) end
    if set then return held { validity = lock.ttl / 7 } end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
