-- Class: plain races
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: deadlock-freedom holds
-- Truth: release-frees holds
-- Check: --assume client-crash
-- Truth: mutual-exclusion-belief holds
-- Truth: deadlock-freedom violated
-- Because: there is one permit. Who takes it from the list holds, and puts it back to release.
-- A dead holder's permit never comes back.
return {
  keys = { lock = { "{key}:permits", "{key}:made" } },
  scripts = {
    make = [[
      if redis.call("setnx", KEYS[1], "1") == 1 then redis.call("rpush", KEYS[2], "permit") end
    ]],
    give = [[
      if redis.call("llen", KEYS[1]) > 0 then return 0 end
      return redis.call("rpush", KEYS[1], "permit")
    ]],
  },

  acquire = function(lock)
    script("make", { lock.key .. ":made", lock.key .. ":permits" })
    if redis("LPOP", lock.key .. ":permits") then return held() end
    return busy()
  end,

  release = function(lock)
    return script("give", { lock.key .. ":permits" }) == 1
  end,
}
