-- Class: a server forgets its scripts
-- Check: --assume none
-- Truth: deadlock-freedom holds
-- Truth: assertion holds
-- Check: --assume node-restart-always
-- Truth: deadlock-freedom holds
-- Because: what SCRIPT EXISTS said is so until the server starts again. A restart is told to
-- whoever has a command on its way; the next attempt finds out.
return {
  name = "asks-first",
  scripts = {
    take = [[return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) and 1 or 0]],
    "release_if_owner",
  },
  acquire = function(lock)
    local keys, args = { lock.key }, { lock.token, lock.ttl }
    local known, err = redis("SCRIPT", "EXISTS", "9f50d01a1f3bd3b3a3c0f2e0f8b5a3f1d2c4b5a6", "5fcd2445238615e4e105729e97250f142166883d")
    if err then return failed(err.message) end
    local got
    if known[2] == 1 then
      got, err = evalsha("take", keys, args)
      assert_(not err or err.code ~= "NOSCRIPT", "it was there when asked")
    else
      got, err = script("take", keys, args)
    end
    if err then return failed(err.message) end
    return got == 1 and held() or busy()
  end,
  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
