-- Class: a trace shows the property that it is about
-- Check: --assume none
-- Truth: no-orphan violated
-- Truth: mutual-exclusion-belief holds
-- Truth: owner-only-release holds
-- Truth: lease holds
-- Truth: honest-outcome holds
-- Truth: deadlock-freedom holds
-- Truth: release-frees holds
-- Because: beside the token lock the client leaves a note that never expires.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    redis("SET", lock.key .. ":note", lock.owner)
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
