-- Class: readers and writers
-- Check: --assume none
-- Truth: read-write-exclusion violated
-- Truth: owner-only-release violated
-- Truth: mutual-exclusion-belief violated
-- Because: the first reader to leave deletes the count of all, and a writer gets in beside
-- those who are left.
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
      return redis.call("DEL", KEYS[1])
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
