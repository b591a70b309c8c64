-- Class: which token is which
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: as in tie-in-a-sorted-set.lua, asked by ZRANK: who comes later with the smaller
-- token gets rank 0 as well.
return {
  acquire = function(lock)
    redis("ZADD", lock.key, 0, lock.token)
    redis("PEXPIRE", lock.key, lock.ttl)
    if redis("ZRANK", lock.key, lock.token) == 0 then return held() end
    redis("ZREM", lock.key, lock.token)
    return busy()
  end,

  release = function(lock)
    return redis("ZREM", lock.key, lock.token) == 1
  end,
}
