-- Class: readers and writers
-- Check: --assume none --clients 3
-- Truth: read-write-exclusion violated
-- Truth: owner-only-release violated
-- Because: a reader that leaves deletes the fields of all, and a writer gets in beside those who are
-- left. It takes three clients, and more contents than tables have.
return {
  scripts = {
    read = [[
      if redis.call("hexists", KEYS[1], "writer") == 1 then return 0 end
      redis.call("hset", KEYS[1], ARGV[2], "1")
      redis.call("pexpire", KEYS[1], ARGV[1])
      return 1
    ]],
    write = [[
      if redis.call("exists", KEYS[1]) == 1 then return 0 end
      redis.call("hset", KEYS[1], "writer", ARGV[2])
      redis.call("pexpire", KEYS[1], ARGV[1])
      return 1
    ]],
    leave = [[ return redis.call("del", KEYS[1]) ]],
    hand_back = [[
      if redis.call("hget", KEYS[1], "writer") == ARGV[1] then return redis.call("hdel", KEYS[1], "writer") end
      return 0
    ]],
  },

  acquire_read = function(lock)
    local got, err = script("read", { lock.key }, { lock.ttl, lock.token })
    if err then return failed(err.message) end
    return got == 1 and held() or busy()
  end,

  acquire_write = function(lock)
    local got, err = script("write", { lock.key }, { lock.ttl, lock.token })
    if err then return failed(err.message) end
    return got == 1 and held() or busy()
  end,

  release = function(lock)
    if lock.mode == "read" then return script("leave", { lock.key }, { lock.token }) == 1 end
    return script("hand_back", { lock.key }, { lock.token }) == 1
  end,
}
