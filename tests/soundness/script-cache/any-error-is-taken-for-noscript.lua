-- Class: a server forgets its scripts
-- Check: --assume none --property no-orphan-at-once
-- Truth: no-orphan-at-once holds
-- Check: --assume loss --property no-orphan-at-once --property mutual-exclusion-belief
-- Truth: mutual-exclusion-belief holds
-- Truth: no-orphan-at-once violated
-- Because: EVALSHA was executed and its reply was lost. The lock is there; the EVAL that follows
-- finds it taken, by this very attempt, and the client says busy.
return {
  name = "any-error-is-taken-for-noscript",
  scripts = {
    take = [[return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) and 1 or 0]],
    "release_if_owner",
  },
  acquire = function(lock)
    local keys, args = { lock.key }, { lock.token, lock.ttl }
    local got, err = evalsha("take", keys, args)
    if err then got, err = script("take", keys, args) end
    if err then return failed(err.message) end
    return got == 1 and held() or busy()
  end,
  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
