-- Class: a server forgets its scripts
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: deadlock-freedom holds
-- Check: --assume node-flush
-- Truth: deadlock-freedom holds
-- Check: --assume node-restart-always
-- Truth: mutual-exclusion-belief holds
-- Truth: deadlock-freedom violated
-- Check: --assume failover
-- Truth: deadlock-freedom violated
-- Because: FLUSHALL leaves scripts alone. A server that starts again knows none, though it keeps
-- all its data; nor does a replica that takes over, for scripts are not replicated. Clients load
-- once, when they start, so nobody acquires any more.
return {
  name = "loads-at-its-start",
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
    local got, err = evalsha("take", { lock.key }, { lock.token, lock.ttl })
    if err then return failed(err.message) end
    return got == 1 and held() or busy()
  end,
  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
