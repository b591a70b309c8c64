-- Class: whose key it is
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Truth: owner-only-release violated
-- Because: everybody writes "1" over whatever is there, and holds. The text stays the same,
-- but the key is now another client's, and the DEL of the one ends the hold of the other.
return {
  acquire = function(lock)
    redis("SET", lock.key, "1", "PX", lock.ttl)
    return held()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
