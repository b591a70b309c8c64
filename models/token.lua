-- SET NX PX with a token that only its owner knows; a script compares and
-- deletes: https://redis.io/commands/set/, "Patterns".
return {
  name = "token",
  description = "SET NX PX with a token; compare-and-delete in a script",
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    -- Counted from before the request: the server's lease started no earlier.
    return held { validity = lock.ttl - (now() - started) }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
