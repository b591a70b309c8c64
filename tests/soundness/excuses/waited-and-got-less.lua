-- Class: outcomes as excuses
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Truth: lease holds
-- Because: who has waited for a whole lease gets a key that lives for one second, and works
-- for three from then on: another client acquires meanwhile.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    for attempt = 1, 5 do
      local life = attempt < 4 and lock.ttl or 1000
      if redis("SET", lock.key, lock.token, "NX", "PX", life) then return held() end
      if attempt < 5 then sleep(1000) end
    end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
