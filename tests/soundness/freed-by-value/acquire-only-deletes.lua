-- Class: freed by value
-- Check: --assume none
-- Truth: honest-outcome violated
-- Truth: lease violated
-- Truth: mutual-exclusion-belief violated
-- Because: an acquire that finds the key deletes it and says that it holds; one that does not,
-- sets it and says that the lock is busy. So every success leaves nothing behind, and the next
-- two acquires of another client make it a second holder.
return {
  acquire = function(lock)
    if redis("DEL", lock.key) == 1 then return held() end
    redis("SET", lock.key, "1", "NX", "PX", lock.ttl)
    return busy()
  end,

  release = function(lock)
    redis("DEL", lock.key)
    return false
  end,
}
