-- Class: tokens and owners are not plain texts
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: as in orders-owners.lua, but table.sort compares the names: the first in the
-- alphabet takes the lock from an owner who works.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if redis("SET", lock.key, lock.owner, "NX", "PX", lock.ttl) then return held() end
    local other = redis("GET", lock.key)
    if not other or other == lock.owner then return busy() end
    local both = { other, lock.owner }
    table.sort(both)
    if both[1] ~= lock.owner then return busy() end
    redis("SET", lock.key, lock.owner, "PX", lock.ttl)
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.owner }) == 1
  end,
}
