-- Class: names
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: the key that is to be free bears a number that nobody else has.
return {
  keys = { lock = "{key}", fence = "{key}:fence", queue = { "{key}:turn:1", "{key}:turn:2" } },

  acquire = function(lock)
    local mine = redis("INCR", lock.key .. ":fence")
    if not mine then return failed("no number") end
    if not redis("SET", lock.key .. ":turn:" .. mine, lock.owner, "NX", "PX", lock.ttl) then
      return busy()
    end
    redis("SET", lock.key, lock.token, "PX", lock.ttl)
    return held()
  end,

  release = function(lock)
    redis("DEL", lock.key)
  end,
}
