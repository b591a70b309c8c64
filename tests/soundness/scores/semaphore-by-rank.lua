-- Class: times as scores
-- Check: --assume client-skew --property mutual-exclusion-belief
-- Truth: mutual-exclusion-belief violated
-- Because: "Redis in Action"'s simple semaphore of one: the rank by the clients' clocks decides. Who
-- comes later with a clock behind gets a rank before the holder's.
return {
  keys = { lock = "{key}" },

  acquire = function(lock)
    local started = now()
    redis("ZREMRANGEBYSCORE", lock.key, "-inf", started - lock.ttl)
    local _, err = redis("ZADD", lock.key, started, lock.token)
    if err then return failed(err.message) end
    local rank, unread = redis("ZRANK", lock.key, lock.token)
    if unread then return failed(unread.message) end
    if rank == 0 then return held { validity = lock.ttl - (now() - started) } end
    redis("ZREM", lock.key, lock.token)
    return busy()
  end,

  release = function(lock)
    return redis("ZREM", lock.key, lock.token) == 1
  end,
}
