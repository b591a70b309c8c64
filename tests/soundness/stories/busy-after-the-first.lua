-- Class: one story, one trace
-- Check: --assume none
-- Truth: deadlock-freedom violated
-- Truth: no-orphan violated
-- Truth: mutual-exclusion-belief holds
-- Truth: release-frees violated
-- Because: the first owner leaves a mark that never goes away, and with it nobody acquires.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if redis("EXISTS", lock.key .. ":done") == 1 then return busy() end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    redis("SET", lock.key .. ":done", "1")
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
