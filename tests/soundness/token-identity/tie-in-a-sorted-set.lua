-- Class: which token is which
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: members of one score stand in the order of their letters. Who comes later with the
-- smaller token is first as well, while the other one works.
return {
  acquire = function(lock)
    redis("ZADD", lock.key, 0, lock.token)
    redis("PEXPIRE", lock.key, lock.ttl)
    local first = redis("ZRANGE", lock.key, 0, 0)
    if first and first[1] == lock.token then return held() end
    redis("ZREM", lock.key, lock.token)
    return busy()
  end,

  release = function(lock)
    return redis("ZREM", lock.key, lock.token) == 1
  end,
}
