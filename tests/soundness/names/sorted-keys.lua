-- Class: tokens and owners are not plain texts
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: pairs goes through names in the order of their letters. Who comes first there takes
-- the lock from an owner who works.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if redis("SET", lock.key, lock.owner, "NX", "PX", lock.ttl) then return held() end
    local other = redis("GET", lock.key)
    if not other or other == lock.owner then return busy() end
    local first = nil
    for name in pairs({ [other] = 1, [lock.owner] = 2 }) do first = first or name end
    if first ~= lock.owner then return busy() end
    redis("SET", lock.key, lock.owner, "PX", lock.ttl)
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.owner }) == 1
  end,
}
