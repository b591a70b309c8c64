-- Class: whose key it is
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: each client brings a number of its own, so each finds the field of that number free.
return {
  keys = { fence = "{key}:fence", lock = "{key}" },

  acquire = function(lock)
    redis("INCR", lock.key .. ":fence")
    local mine = redis("INCR", lock.key .. ":fence")
    if not mine then return failed("no number") end
    if redis("HSETNX", lock.key, mine, lock.owner) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    redis("DEL", lock.key)
  end,
}
