-- Class: one story, one trace
-- Check: --assume none
-- Truth: deadlock-freedom violated
-- Truth: mutual-exclusion-belief holds
-- Because: each client takes two keys that never expire, in an order that it draws, and keeps
-- the first while it waits for the second: two clients can wait for each other for ever.
return {
  keys = { lock = { "{key}:a", "{key}:b" } },

  acquire = function(lock)
    local first, second = lock.key .. ":a", lock.key .. ":b"
    if random(2) == 2 then first, second = second, first end
    while redis("SETNX", first, "1") == 0 do sleep(1000) end
    while redis("SETNX", second, "1") == 0 do sleep(1000) end
    return held()
  end,

  release = function(lock)
    redis("DEL", lock.key .. ":a")
    return redis("DEL", lock.key .. ":b") == 1
  end,
}
