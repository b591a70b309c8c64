-- Class: times as scores
-- Check: --assume none --property mutual-exclusion-belief
-- Truth: mutual-exclusion-belief violated
-- Because: two that come within one ms have one score, and their tokens' letters decide who is first. Who is
-- first then may have come later, and finds the other one a holder.
return {
  keys = { lock = "{key}" },

  acquire = function(lock)
    local _, err = redis("ZADD", lock.key, now(), lock.token)
    if err then return failed(err.message) end
    local first, unread = redis("ZRANGE", lock.key, 0, 0)
    if unread then return failed(unread.message) end
    if first[1] == lock.token then return held() end
    redis("ZREM", lock.key, lock.token)
    return busy()
  end,

  release = function(lock)
    return redis("ZREM", lock.key, lock.token) == 1
  end,
}
