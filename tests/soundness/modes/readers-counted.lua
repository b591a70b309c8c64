-- Class: readers and writers
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: mutual-exclusion-validity holds
-- Truth: owner-only-release holds
-- Truth: read-write-exclusion holds
-- Truth: deadlock-freedom holds
-- Truth: no-orphan holds
-- Truth: honest-outcome holds
-- Truth: release-frees holds
-- Because: each reader counts itself in and out, the last one deletes the count, and a
-- writer comes only where there is no count.
return {
  keys = { lock = { "{key}:readers", "{key}:writer" } },
  scripts = {
    read = [[
      if redis.call("EXISTS", KEYS[2]) == 1 then return 0 end
      redis.call("INCR", KEYS[1])
      redis.call("PEXPIRE", KEYS[1], ARGV[1])
      return 1
    ]],
    leave = [[
      if redis.call("EXISTS", KEYS[1]) == 0 then return 0 end
      if redis.call("DECR", KEYS[1]) == 0 then redis.call("DEL", KEYS[1]) end
      return 1
    ]],
    write = [[
      if redis.call("EXISTS", KEYS[1]) == 1 then return 0 end
      return redis.call("SET", KEYS[2], ARGV[2], "NX", "PX", ARGV[1]) and 1 or 0
    ]],
    give = [[
      if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
      return redis.call("DEL", KEYS[1])
    ]],
  },

  acquire_read = function(lock)
    local keys = { lock.key .. ":readers", lock.key .. ":writer" }
    local got, err = script("read", keys, { lock.ttl })
    if err then return failed(err.message) end
    return got == 1 and held() or busy()
  end,

  acquire_write = function(lock)
    local keys = { lock.key .. ":readers", lock.key .. ":writer" }
    local got, err = script("write", keys, { lock.ttl, lock.token })
    if err then return failed(err.message) end
    return got == 1 and held() or busy()
  end,

  release = function(lock)
    if lock.mode == "read" then
      return script("leave", { lock.key .. ":readers" }, {}) == 1
    end
    return script("give", { lock.key .. ":writer" }, { lock.token }) == 1
  end,
}
