-- Class: fences
-- Check: --assume none
-- Truth: fence-monotonicity holds
-- Check: --assume client-pause
-- Truth: fence-monotonicity violated
-- Truth: mutual-exclusion-effect holds
-- Because: who is paused behind the answer to its INCR hears of it when the next holder has a
-- higher fence already: it believes that it got the lock, and with a lower fence. The resource
-- refuses it.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    local fence, err = redis("INCR", lock.key .. ":fence")
    if err then return failed(err.message) end
    return held { fence = fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
