-- Class: one story, one trace
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: the score says when the holder came. After two seconds of a lease of three a waiter
-- writes over it, and two clients hold.
return {
  acquire = function(lock)
    if redis("ZADD", lock.key, "NX", now(), "holder") == 1 then return held() end
    local since = time(redis("ZSCORE", lock.key, "holder"))
    if not since or now() - since < 2000 then return busy() end
    redis("ZADD", lock.key, now(), "holder")
    return held()
  end,

  release = function(lock)
    return redis("ZREM", lock.key, "holder") == 1
  end,
}
