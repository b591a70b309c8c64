-- Class: a server forgets its scripts
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: deadlock-freedom violated
-- Truth: warns never succeeded
-- Because: no server knows a script at the start, and nobody loads this one.
return {
  name = "never-loaded",
  scripts = {
    take = [[return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) and 1 or 0]],
    "release_if_owner",
  },
  acquire = function(lock)
    local got, err = evalsha("take", { lock.key }, { lock.token, lock.ttl })
    if err then return failed(err.message) end
    return got == 1 and held() or busy()
  end,
  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
