-- Class: what a lock tells its caller of a loss
-- Check: --assume none
-- Truth: no-false-alarm holds
-- Check: --assume loss --timeout-ticks 1
-- Truth: no-false-alarm violated
-- Because: a caller may ask for the renewal itself. That no reply came is no reason to say that the
-- lock is lost.
return {
  scripts = {
    "release_if_owner",
    extend = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      return redis.call("pexpire", KEYS[1], ARGV[2])
    ]],
  },

  acquire = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,

  renew = function(lock)
    local extended = script("extend", { lock.key }, { lock.token, lock.ttl })
    if extended == 1 then return true end
    return lost()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
