-- Class: outcomes as excuses
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: lease holds
-- Truth: deadlock-freedom holds
-- Because: however long a client has waited, its key lives for a whole lease from the SET that
-- got it, and its work is counted from there as well.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    for attempt = 1, 5 do
      if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
      if attempt < 5 then sleep(1000) end
    end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
