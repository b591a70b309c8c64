-- Class: plain races
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Check: --assume client-pause
-- Truth: mutual-exclusion-belief violated
-- Because: of twenty numbers one makes the client take whatever is there.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if random(20) == 17 then
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
