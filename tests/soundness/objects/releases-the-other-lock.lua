-- Class: a release of the wrong key
-- Check: --assume none
-- Truth: owner-only-release violated
-- Truth: mutual-exclusion-belief violated
-- Because: giving back the second lock deletes the key of the first, which the client holds.
return {
  objects = 2,
  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", "lock") == 1
  end,
}
