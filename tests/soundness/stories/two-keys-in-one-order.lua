-- Class: one story, one trace
-- Check: --assume none
-- Truth: deadlock-freedom holds
-- Truth: mutual-exclusion-belief holds
-- Because: everybody takes the same key first, so whoever has it gets the second one sooner or
-- later.
return {
  keys = { lock = { "{key}:a", "{key}:b" } },

  acquire = function(lock)
    while redis("SETNX", lock.key .. ":a", "1") == 0 do sleep(1000) end
    while redis("SETNX", lock.key .. ":b", "1") == 0 do sleep(1000) end
    return held()
  end,

  release = function(lock)
    redis("DEL", lock.key .. ":b")
    return redis("DEL", lock.key .. ":a") == 1
  end,
}
