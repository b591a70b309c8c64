-- Class: messages
-- Check: --assume none
-- Truth: refused
-- Because: what is published goes to replicas too, and WAIT would ask for it. The model does
-- not follow both.
return {
  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    redis("PUBLISH", "taken", "1")
    if redis("WAIT", 1, 100) == 1 then return held() end
    return failed("no replica")
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
