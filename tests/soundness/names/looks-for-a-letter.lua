-- Class: tokens and owners are not plain texts
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: a token may have a hyphen in it, and with one the lock takes whatever is there.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if string.find(lock.token, "-", 1, true) then
      redis("SET", lock.key, lock.token, "PX", lock.ttl)
      return held()
    end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
