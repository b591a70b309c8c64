-- Class: a verdict that says nothing
-- Check: --assume none
-- Truth: refused
-- Because: the script has a syntax error. No run of two clients gets to it, but a server would
-- refuse it each time.
return {
  scripts = {
    "release_if_owner",
    repair = [[
      if redis.call("get", KEYS[1]) = ARGV[1] then return redis.call("del", KEYS[1]) end
      return 0
    ]],
  },

  acquire = function(lock)
    local set = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if set then return held() end
    if redis("PTTL", lock.key) == -1 then script("repair", { lock.key }, { lock.token }) end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
