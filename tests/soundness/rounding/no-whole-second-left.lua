-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: TTL answers 0 for the last half second of a key, and 1 for the second before that.
-- So for half a second a waiter takes the lock from an owner who works.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local left, err = redis("TTL", lock.key)
    if err then return failed(err.message) end
    if left > 0 then return busy() end
    redis("SET", lock.key, lock.token, "PX", lock.ttl)
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
