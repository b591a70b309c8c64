-- Class: times as scores
-- Check: --assume none
-- Truth: refused line 7
-- Because: a client that asks TIME has its answer later; the model follows TIME in scripts only, and says so.
return {
  acquire = function(lock)
    local t = redis("TIME")
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) and t then return held() end
    return busy()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
