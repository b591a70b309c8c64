-- Class: a server forgets its scripts
-- Check: --assume failover --budget failover=2
-- Truth: assertion violated
-- Check: --assume failover-cut-off --budget failover-cut-off=2
-- Truth: refused line 21
-- Because: a server that died knows no script when it starts again. One that nobody reached went on: it
-- follows the new server without starting again, and knows its scripts when it takes over once more.
return {
  name = "fails-over-and-back",
  scripts = {
    take = [[return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) and 1 or 0]],
    "release_if_owner",
  },
  acquire = function(lock)
    if not self.loaded then
      local sha, err = script_load("take")
      if err then return failed(err.message) end
      self.loaded = true
    end
    local got, err
    got, err = evalsha("take", { lock.key }, { lock.token, lock.ttl })
    assert_(not err or err.code ~= "NOSCRIPT", "the script was loaded")
    if err then return failed(err.message) end
    return got == 1 and held() or busy()
  end,
  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
