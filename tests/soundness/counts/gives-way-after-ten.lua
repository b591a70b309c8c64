-- Class: counts without a cap
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: after nine attempts the lock is taken without a look at it. The count is higher
-- than what the model tells exactly, and must not be taken for a lower one.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local count, err = redis("INCR", "attempts")
    if err then return failed(err.message) end
    if count > 9 then return held() end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
