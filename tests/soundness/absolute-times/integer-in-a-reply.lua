-- Class: derived and absolute times
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: the script answers the stored time as an integer. It ends a second before the
-- lease, and then a waiter writes over the key of an owner who works.
return {
  scripts = {
    look = [[ return tonumber(redis.call("get", KEYS[1]) or "0") ]],
  },

  acquire = function(lock)
    local ends = now() + (lock.ttl - 1000)
    if redis("SET", lock.key, ends, "NX", "PX", lock.ttl) then return held() end
    local stored = time(script("look", { lock.key }))
    if not stored or stored >= now() then return busy() end
    redis("SET", lock.key, ends, "PX", lock.ttl)
    return held()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
