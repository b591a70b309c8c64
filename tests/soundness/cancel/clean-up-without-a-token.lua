-- Class: a clean-up that deletes whatever is there
-- Check: --assume none
-- Truth: owner-only-release holds
-- Truth: mutual-exclusion-belief holds
-- Check: --assume cancel
-- Truth: owner-only-release violated
-- Truth: mutual-exclusion-belief violated
-- Because: the other client holds the lock. This one waits before it tries again, is
-- interrupted there, and its clean-up deletes the key without a look at the token.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    sleep(1000)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  cancelled = function(lock)
    redis("DEL", lock.key)
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
