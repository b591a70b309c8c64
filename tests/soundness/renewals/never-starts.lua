-- Class: a hold whose renewal never starts
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Truth: lease holds
-- Because: the file says that it renews, so the work may take any time, but nothing renews:
-- the key expires, and another client acquires.
return {
  renews = true,
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
