-- The token lock, confirmed: after the SET a WAIT asks whether a replica has it,
-- and the lock is given up when none has. WAIT undoes nothing by itself: what
-- was written stays written, also when nobody acknowledges it (Redis manual).
return {
  name = "token-wait",
  description = "SET NX PX with a token, confirmed by WAIT; compare-and-delete in a script",
  scripts = { "release_if_owner" },
  params = {
    -- How long a replica may take. A check's tick is longer.
    wait_ms = { default = 100, check = 1000 },
  },

  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    if redis("WAIT", 1, lock.params.wait_ms) ~= 1 then
      script("release_if_owner", { lock.key }, { lock.token })
      return failed("no replica has the lock")
    end
    -- Counted from before the first request: the server's lease started no earlier.
    return held { validity = lock.ttl - (now() - started) }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,

  about = {
    works = [[It acquires as the lock "token" does. Then WAIT asks whether a replica has the write, and if
      none has, the lock is given up and the acquire has failed. The release is the script that
      compares and deletes.]],
    claims = [[It follows the manual of WAIT: a write that a replica has acknowledged is less likely to be
      lost when that replica takes over. The manual does not promise more, and a WAIT that fails
      undoes nothing.]],
    repair = [[WAIT helps against failover, not against a client that stops and goes on when its lease is
      over: for that, let the guarded resource check a fencing token. Choose a lease that is much
      longer than the time that WAIT may take.]],
  },
}
