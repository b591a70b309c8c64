-- Class: what a holder asks of its lock
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Truth: lease holds
-- Truth: release-frees holds
-- Truth: deadlock-freedom holds
-- Truth: owner-only-release holds
-- Because: the one asks again after a second, the other asks once. Both take the reply for
-- what it is.
local function try(lock)
  return redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
end

return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    for attempt = 1, 2 do
      if try(lock) then return held() end
      if attempt < 2 then sleep(1000) end
    end
    return busy()
  end,

  try_acquire = function(lock)
    if try(lock) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
