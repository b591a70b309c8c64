-- Class: a server forgets its scripts
-- Check: --assume none
-- Truth: refused line 8
-- Because: whether a server knows a script of that name depends on the token's letters.
return {
  name = "named-by-a-token",
  acquire = function(lock)
    redis("EVALSHA", lock.token, 0)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    return set and held() or busy()
  end,
  release = function(lock) return redis("DEL", lock.key) == 1 end,
}
