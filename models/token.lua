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

  about = {
    works = [[SET with NX and PX writes a token that no other attempt has, with its expiry. The release is
      a script that deletes the key only if it still has that token. The lock states a validity:
      what is left of the lease, counted from before the request was sent.]],
    claims = [[Articles call it sufficient for real use: it excludes others, cannot deadlock, and nobody
      deletes another client's lock. What they leave open is the server itself: a replica that
      takes over without the key has lost the lock.]],
    repair = [[Work must end before the validity does. If it may not, because a client can be paused or its
      clock can be wrong, take a number from a counter with each acquire and let the guarded
      resource refuse an older one (a fencing token). Against lost data: save every write before
      it is acknowledged, or keep a server that lost its data away for longer than a lease.
      Against failover: confirm the write with WAIT ("token-wait").]],
  },
}
