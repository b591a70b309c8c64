-- Class: a server forgets its scripts
-- Check: --assume none
-- Truth: assertion holds
-- Check: --assume node-flush
-- Truth: assertion holds
-- Check: --assume node-restart-always
-- Truth: mutual-exclusion-belief holds
-- Truth: assertion violated
-- Check: --assume failover
-- Truth: assertion violated
-- Because: the server starts again, or its replica takes over, while the client rests; no command is on its
-- way then, so nobody tells the client.
return {
  name = "rests-after-the-load",
  scripts = {
    take = [[return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) and 1 or 0]],
    "release_if_owner",
  },
  acquire = function(lock)
    local sha, err = script_load("take")
    if err then return failed(err.message) end
    sleep(lock.ttl / 3)
    local got
    got, err = redis("EVALSHA", sha, 1, lock.key, lock.token, lock.ttl)
    assert_(not err or err.code ~= "NOSCRIPT", "the script was loaded")
    if err then return failed(err.message) end
    return got == 1 and held() or busy()
  end,
  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
