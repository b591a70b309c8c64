-- Class: an order that nobody promises
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: nothing says in which order the server lists the fields, and it may change as
-- fields come and go: the first may be the holder, or the one that came just now.
return {
  acquire = function(lock)
    redis("HSET", lock.key, lock.owner, "1")
    local names = redis("HKEYS", lock.key)
    if names and names[1] == lock.owner then return held() end
    redis("HDEL", lock.key, lock.owner)
    return busy()
  end,

  release = function(lock)
    return redis("HDEL", lock.key, lock.owner) == 1
  end,
}
