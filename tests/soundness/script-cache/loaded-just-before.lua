-- Class: a server forgets its scripts
-- Check: --assume none
-- Truth: assertion holds
-- Check: --assume node-flush
-- Truth: assertion holds
-- Because: nobody sends SCRIPT FLUSH, and FLUSHALL leaves scripts alone, so what a client loaded is
-- there when it asks for it next.
return {
  name = "loaded-just-before",
  scripts = {
    take = [[return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) and 1 or 0]],
    "release_if_owner",
  },
  acquire = function(lock)
    local sha, err = script_load("take")
    if err then return failed(err.message) end
    local got
    got, err = redis("EVALSHA", sha, 1, lock.key, lock.token, lock.ttl)
    assert_(not err or err.code ~= "NOSCRIPT", "the script was just loaded")
    if err then return failed(err.message) end
    return got == 1 and held() or busy()
  end,
  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
