-- Class: whose key it is
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: owner-only-release holds
-- Truth: lease holds
-- Truth: no-orphan holds
-- Truth: honest-outcome holds
-- Truth: deadlock-freedom holds
-- Check: --assume client-crash
-- Truth: deadlock-freedom violated
-- Truth: no-orphan violated
-- Truth: mutual-exclusion-belief holds
-- Because: each waiter has its own item in the list, takes it out when it ends, and only the
-- first one may take the lock. A dead waiter's item stays for ever: nobody comes first any
-- more.
return {
  keys = { lock = "{key}", queue = "{key}:queue" },
  scripts = {
    "release_if_owner",
    enter = [[
      redis.call("lrem", KEYS[1], 0, ARGV[1])
      redis.call("rpush", KEYS[1], ARGV[1])
    ]],
  },

  acquire = function(lock)
    local queue, got = lock.key .. ":queue", nil
    script("enter", { queue }, { lock.owner })
    for attempt = 1, 2 do
      if redis("LINDEX", queue, 0) == lock.owner then
        got = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
        if got then break end
      end
      if attempt < 2 then sleep(1000) end
    end
    redis("LREM", queue, 0, lock.owner)
    if got then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
