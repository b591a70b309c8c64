-- Class: no-orphan gives up its watch
-- Check: --assume none
-- Truth: no-orphan violated
-- Truth: mutual-exclusion-belief holds
-- Truth: owner-only-release holds
-- Because: who finds the lock taken writes its name into a hash that nobody empties and that
-- never expires.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    redis("HSET", lock.key .. ":refused", lock.owner, "1")
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
