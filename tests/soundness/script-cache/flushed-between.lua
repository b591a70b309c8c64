-- Class: a server forgets its scripts
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: assertion violated
-- Because: another client's SCRIPT FLUSH is executed between the two commands.
return {
  name = "flushed-between",
  scripts = {
    take = [[return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) and 1 or 0]],
    "release_if_owner",
  },
  acquire = function(lock)
    local sha, err = script_load("take")
    if err then return failed(err.message) end
    local got
    got, err = redis("evalsha", sha, 1, lock.key, lock.token, lock.ttl)
    assert_(not err or err.code ~= "NOSCRIPT", "the script was just loaded")
    if err then return failed(err.message) end
    return got == 1 and held() or busy()
  end,
  release = function(lock)
    local gone = script("release_if_owner", { lock.key }, { lock.token })
    redis("SCRIPT", "FLUSH")
    return gone == 1
  end,
}
