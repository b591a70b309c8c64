-- Class: whose key it is
-- Check: --assume none
-- Truth: lease holds
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Truth: no-orphan holds
-- Because: it is the token lock under another key, which the file declares to be the lock.
return {
  keys = { lock = "{key}:held" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local key = lock.key .. ":held"
    if redis("SET", key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key .. ":held" }, { lock.token }) == 1
  end,
}
