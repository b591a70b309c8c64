-- Class: fences
-- Check: --assume none
-- Truth: fence-monotonicity violated
-- Truth: mutual-exclusion-effect holds
-- Because: between a client's INCR and its SET another one can draw a higher fence, get the
-- lock and give it back. Who comes then is refused by the resource, and no update is lost.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local fence, err = redis("INCR", lock.key .. ":fence")
    if err then return failed(err.message) end
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held { fence = fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
