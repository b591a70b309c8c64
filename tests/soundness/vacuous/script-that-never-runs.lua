-- Class: a verdict that says nothing
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: warns repair
-- Truth: warns line 21
-- Because: it is the token lock with a script for keys without an expiry, which there never
-- are. Nothing that is said of this lock is about that script, nor about the line that runs
-- it.
return {
  scripts = {
    "release_if_owner",
    repair = [[
      return redis.call("pexpire", KEYS[1], ARGV[1])
    ]],
  },

  acquire = function(lock)
    local set = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if set then return held() end
    if redis("PTTL", lock.key) == -1 then
      script("repair", { lock.key }, { lock.ttl })
    end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
