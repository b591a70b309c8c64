-- Class: stamps
-- Check: --clients 1 --assume none
-- Truth: deadlock-freedom not-holds
-- Because: the first reading is the key of a table, and nothing else remembers it; the second,
-- of the same tick, need not be that key. If it is not, the lock is taken for ever.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local seen = {}
    local function see() seen[tostring(now())] = true end
    see()
    redis("EXISTS", lock.key)
    if not seen[tostring(now())] then redis("SET", lock.key, "taken") end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
