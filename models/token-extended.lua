-- The token lock whose holder prolongs the lease by hand and can ask whether it still
-- has the lock, as `Lock.extend` (with `replace_ttl`) and `Lock.owned` of redis-py do.
-- Unlike those it states a validity, at each acquire and at each renewal.
return {
  name = "token-extended",
  description = "SET NX PX with a token; the holder renews by hand, and can ask whether it still holds",
  scripts = {
    "release_if_owner",
    extend = [[
      -- extend: a whole lease from now on, if the key still has the token
      if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end
      return 0
    ]],
  },

  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  renew = function(lock)
    local started = now()
    local extended, err = script("extend", { lock.key }, { lock.token, lock.ttl })
    -- It may have been prolonged, or will be: what was stated before still counts.
    if err then return failed(err.message) end
    if extended == 0 then return false end
    return held { validity = lock.ttl - (now() - started) }
  end,

  is_held = function(lock)
    local value, err = redis("GET", lock.key)
    if err then return failed(err.message) end
    return value == lock.token
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,

  about = {
    works = [[SET with NX and PX writes a token with its expiry. While it holds, the caller may renew: a
      script compares the token and gives the key a whole lease again. It may also ask whether it
      still holds the lock: GET, compared with the token. Each success states a validity, counted
      from before its request was sent.]],
    claims = [[Libraries offer it for work of unknown length: extend in good time and the lock stays yours;
      if it was lost, the renewal says so and does not take it back.]],
    repair = [[A renewal that fails says nothing: stop when the last stated validity is over. An answer that
      the lock is held is true of a moment that has passed when the caller reads it, so it allows
      nothing: before a write that must not happen twice, renew and look at the validity, or let
      the guarded resource refuse an older fencing token.]],
  },
}
