-- Class: tokens and owners are not plain texts
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: two clients have two names, one of which comes first in the alphabet. That client
-- takes the lock from the other, who goes on working.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if redis("SET", lock.key, lock.owner, "NX", "PX", lock.ttl) then return held() end
    local other = redis("GET", lock.key)
    if other and lock.owner < other then
      redis("SET", lock.key, lock.owner, "PX", lock.ttl)
      return held()
    end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.owner }) == 1
  end,
}
